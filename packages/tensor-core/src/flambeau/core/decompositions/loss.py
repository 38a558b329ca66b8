"""Cross entropy, and connectionist temporal classification (Graves et al., 2006).

Of the latter all items of a batch are computed at once.
"""
from __future__ import annotations

from flambeau.core import ops
from flambeau.core.decompositions.shared import filled, numbers, wide
from flambeau.core.dtypes import dtypes

_MEAN, _SUM = 1, 2


def check_probabilities(x):
    return ops.all(ops.logical_and(x >= 0, x <= 1))


# ---- classes -------------------------------------------------------------------------------------
def _weights(weight, scores, dim):
    """A factor for each class: the weights, or 1."""
    shape = [1] * scores.ndim
    shape[dim] = -1
    return filled((), 1, scores) if weight is None else weight.reshape(shape)


def cross_entropy_rows(x, target, weight, reduction, ignore, smoothing):
    dim, x, weight = min(x.ndim - 1, 1), wide(x), wide(weight)
    scores, high = ops.log_softmax(x, dim), x.amax(dim)
    loss, total = ops.nll_loss_rows(scores, target, weight, 0, ignore)
    if smoothing:
        sums = -(scores * _weights(weight, scores, dim)).sum(dim)
        sums = ops.where(target == ignore, filled((), 0, sums), sums)
        loss = loss * (1 - smoothing) + sums * (smoothing / x.shape[dim])
    if reduction:
        loss = loss.sum() / total if reduction == _MEAN else loss.sum()
    return loss, total, high, (x - high.unsqueeze(dim)).exp().sum(dim).log()


def cross_entropy_grad(x, grad, target, weight, reduction, ignore, smoothing, total, high, logs):
    """Of x and grad alone, so that it has a derivative."""
    dim, x, weight, grad = min(x.ndim - 1, 1), wide(x), wide(weight), wide(grad)
    scores, slope = ops.log_softmax(x, dim), grad / total if reduction == _MEAN else grad
    slopes = ops.nll_loss_grad(slope * (1 - smoothing), scores, target, weight,
                               _SUM if reduction else 0, ignore, total)
    if smoothing:
        kept = ops.where(target == ignore, filled((), 0, slope), slope).unsqueeze(dim)
        slopes = slopes - kept * _weights(weight, scores, dim) * (smoothing / x.shape[dim])
    return ops.log_softmax_grad(slopes, scores, dim)


# ---- sequences -----------------------------------------------------------------------------------

_NEVER = float("-inf")


class _Lattice:
    """Labels with blanks between them, ``[batch, 2 * labels + 1]``, and how paths move there."""

    def __init__(self, log_probs, targets, input_lengths, target_lengths, blank):
        self.steps = input_lengths.to(dtypes["int64"]).unsqueeze(-1)
        lengths = target_lengths.to(dtypes["int64"]).unsqueeze(-1)
        labels = _rows(targets.to(dtypes["int64"]), lengths, blank)
        blanks = labels * 0 + blank
        if labels.shape[1]:
            pairs = ops.stack([blanks, labels], -1).flatten(1)
            self.states = ops.cat([pairs, blanks.narrow(1, 0, 1)], 1)
        else:
            self.states = filled((labels.shape[0], 1), blank, labels)
        count = numbers(self.states.shape[1], labels.device)
        changed = self.states != _shifted(self.states, 2, -1)
        self.skips = changed & (self.states != blank) & (count >= 2)
        self.final = ((count == 2 * lengths) | (count == 2 * lengths - 1)) & (count >= 0)
        self.first = count == 0
        self.low = filled((), _NEVER, log_probs)
        self.scores = ops.gather(log_probs, 2, self.states.unsqueeze(0).expand(
            log_probs.shape[0], *self.states.shape))

    def forward(self):
        """Logarithms of the probabilities of beginnings that end in each state, by step."""
        zero = filled((), 0, self.low)
        now, found = ops.where(self.first, zero, self.low).expand(self.states.shape), []
        for step, scores in enumerate(self.scores.unbind(0)):
            ways = [now, _shifted(now, 1, _NEVER),
                    ops.where(self.skips, _shifted(now, 2, _NEVER), self.low)]
            # The first step is at the first blank or at the first label.
            moved = ops.logsumexp(ops.stack(ways if step else ways[:2], 0), 0) + scores
            now = ops.where(step < self.steps, moved, now)
            found.append(now)
        return found, now

    def loss(self, last):
        return -ops.logsumexp(ops.where(self.final, last, self.low), -1)

    def backward(self):
        """Logarithms of the probabilities of endings that follow each state, by step."""
        end = ops.where(self.final, filled((), 0, self.low), self.low)
        now, found = end, []
        for step in range(self.scores.shape[0] - 1, -1, -1):
            if step + 1 < self.scores.shape[0]:
                after = now + self.scores.select(0, step + 1)
                skipped = ops.where(self.skips, after, self.low)
                ways = [after, _shifted(after, -1, _NEVER), _shifted(skipped, -2, _NEVER)]
                now = ops.where(step + 1 < self.steps, ops.logsumexp(ops.stack(ways, 0), 0), end)
            found.append(now)
        return found[::-1]


def _rows(targets, lengths, blank):
    """The labels of each item, blanks after them."""
    if targets.ndim == 1:       # one after the other
        starts = lengths.cumsum(0) - lengths
        longest = int(lengths.amax().item()) if lengths.numel() else 0
        at = starts + numbers(longest, targets.device)
        if not longest:
            return filled((lengths.shape[0], 0), blank, targets)
        targets = ops.index(targets, [at.clamp(0, targets.numel() - 1)])
    inside = numbers(targets.shape[1], targets.device) < lengths
    return ops.where(inside, targets, blank)


def _shifted(x, by, fill):
    """Each row moved to the right, or to the left for a negative number."""
    size = min(abs(by), x.shape[1])
    edge, kept = filled((x.shape[0], size), fill, x), x.shape[1] - size
    parts = [edge, x.narrow(1, 0, kept)] if by > 0 else [x.narrow(1, size, kept), edge]
    return ops.cat(parts, 1)


def ctc_loss_rows(log_probs, targets, input_lengths, target_lengths, blank):
    lattice = _Lattice(wide(log_probs), targets, input_lengths, target_lengths, blank)
    return lattice.loss(lattice.forward()[1])


def ctc_loss_grad(grad, log_probs, targets, input_lengths, target_lengths, result, blank):
    log_probs, grad = wide(log_probs), wide(grad)
    lattice = _Lattice(log_probs, targets, input_lengths, target_lengths, blank)
    if not log_probs.numel():
        return log_probs
    begun = ops.stack(lattice.forward()[0], 0)
    shares = (begun + ops.stack(lattice.backward(), 0) + result.unsqueeze(-1)).exp()
    classes = lattice.states.unsqueeze(0).expand(shares.shape)
    met = ops.scatter_add(log_probs * 0, 2, classes, shares)
    steps = numbers(log_probs.shape[0], log_probs.device).reshape(-1, 1, 1)
    slopes = grad.unsqueeze(-1) * (log_probs.exp() - met)
    return ops.where(steps < lattice.steps, slopes, filled((), 0, slopes))
