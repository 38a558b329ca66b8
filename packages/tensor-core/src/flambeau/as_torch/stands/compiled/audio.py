"""The operators of torchaudio's compiled library: filters, alignments, the loss of transducers."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau.core import Tensor

NAMESPACE = "torchaudio"
_LOG_ZERO = float("-inf")


def _lfilter_core_loop(waveform: Tensor, a_coeffs_flipped: Tensor, padded: Tensor) -> None:
    """Write ``y[t] = x[t] - sum(a[k] * y[t - k])`` behind the zeros that ``padded`` begins with."""
    order = a_coeffs_flipped.size(1)
    with flambeau.no_grad():
        for at in range(waveform.size(2)):
            seen = (padded[:, :, at:at + order] * a_coeffs_flipped).sum(-1)
            padded[:, :, at + order - 1] = waveform[:, :, at] - seen


def _overdrive_core_loop(waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor,
                         output: Tensor) -> None:
    """Write a waveform and its filtered distortion, mixed."""
    with flambeau.no_grad():
        for at in range(waveform.size(-1)):
            last_out.copy_(temp[:, at] - last_in + 0.995 * last_out)
            last_in.copy_(temp[:, at])
            output[:, at] = waveform[:, at] * 0.5 + last_out * 0.75


def forced_align(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor,
                 blank: int) -> tuple[Tensor, Tensor]:
    """The most likely alignment of a text to frames, by Viterbi's algorithm over CTC's states.

    Returns:
        The class of each frame, and ``log_probs``.

    Raises:
        RuntimeError: There are fewer frames than the text needs.
    """
    paths = [_aligned(scores[:frames], [int(c) for c in text[:length]], blank)
             + [0] * (len(scores) - frames)
             for scores, frames, text, length in zip(
                 log_probs.tolist(), input_lengths.tolist(), targets.tolist(),
                 target_lengths.tolist(), strict=True)]
    return flambeau.tensor(paths, dtype=targets.dtype, device=targets.device), log_probs


def _aligned(scores: list[list[float]], text: list[int], blank: int) -> list[int]:
    states = [blank]
    for each in text:
        states += [each, blank]
    repeats = sum(a == b for a, b in zip(text, text[1:], strict=False))
    if len(scores) < len(text) + repeats:
        raise RuntimeError(f"targets length is too long for CTC. Found targets length: {len(text)},"
                           f" log_probs length: {len(scores)}, and number of repeats: {repeats}")
    best = [scores[0][state] if k < 2 else _LOG_ZERO for k, state in enumerate(states)]
    came: list[list[int]] = []
    for frame in scores[1:]:
        before, best, steps = best, [], []
        for k, state in enumerate(states):
            step = 1 if k and before[k - 1] > before[k] else 0
            may_skip = k > 1 and state != blank and state != states[k - 2]
            if may_skip and before[k - 2] > before[k - step]:
                step = 2
            best.append(before[k - step] + frame[state])
            steps.append(step)
        came.append(steps)
    at = len(states) - 1
    if at and best[at - 1] > best[at]:
        at -= 1
    path = [states[at]]
    for steps in reversed(came):
        at -= steps[at]
        path.append(states[at])
    return path[::-1]


def rnnt_loss_forward(logits: Tensor, targets: Tensor, logit_lengths: Tensor,
                      target_lengths: Tensor, blank: int, clamp: float,
                      fused_log_softmax: bool = True) -> tuple[Tensor, Tensor]:
    """The negative log likelihood of each text over all alignments, and the gradients of logits.

    Graves, *Sequence transduction with recurrent neural networks* (2012).
    """
    with flambeau.no_grad():
        scores = flambeau.log_softmax(logits.double(), -1) if fused_log_softmax else logits.double()
        costs, grads = [], flambeau.zeros(scores.shape, dtype=scores.dtype, device=scores.device)
        lengths = zip(logit_lengths.tolist(), target_lengths.tolist(), strict=True)
        for row, (frames, letters) in enumerate(lengths):
            text = targets[row, :letters].long()
            stay = scores[row, :frames, :letters + 1, blank]
            index = text.expand(frames, letters).unsqueeze(-1)
            move = scores[row, :frames, :letters].gather(-1, index).squeeze(-1)
            cost, of_stay, of_move = _transduced(stay, move)
            costs.append(cost)
            here = grads[row, :frames, :letters + 1]
            here[..., blank] += of_stay
            here[:, :letters].scatter_add_(-1, index, of_move.unsqueeze(-1))
        if fused_log_softmax:
            grads -= scores.exp() * grads.sum(-1, keepdim=True)
        if clamp > 0:
            grads = grads.clamp(-clamp, clamp)
        return flambeau.stack(costs).to(logits.dtype), grads.to(logits.dtype)


def _transduced(stay: Tensor, move: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The cost of one text, and its derivatives by the scores of blanks and of letters.

    ``stay`` is ``(T, U + 1)``, ``move`` ``(T, U)``. Along a diagonal ``t + u`` nothing depends on
    anything else, so that each is computed at once.
    """
    frames, width = stay.shape
    device = stay.device
    before = flambeau.full((frames + 1, width + 1), _LOG_ZERO, dtype=stay.dtype, device=device)
    after = before.clone()
    stays = flambeau.full_like(before, _LOG_ZERO)
    moves = stays.clone()
    stays[:frames, :width] = stay
    moves[:frames, :width - 1] = move
    after[frames, width - 1] = 0
    before[0, 0] = 0
    for total in range(1, frames + width - 1):
        t = flambeau.arange(max(0, total - width + 1), min(frames - 1, total) + 1, device=device)
        u = total - t
        one = flambeau.where(t > 0, before[t - 1, u] + stays[t - 1, u], _LOG_ZERO)
        other = flambeau.where(u > 0, before[t, u - 1] + moves[t, u - 1], _LOG_ZERO)
        before[t, u] = flambeau.logaddexp(one, other)
    for total in reversed(range(frames + width - 1)):
        t = flambeau.arange(max(0, total - width + 1), min(frames - 1, total) + 1, device=device)
        u = total - t
        after[t, u] = flambeau.logaddexp(after[t + 1, u] + stays[t, u],
                                         after[t, u + 1] + moves[t, u])
    whole = after[0, 0]
    start = before[:frames, :width] - whole
    of_stay = -(start + stay + after[1:, :width]).exp()
    of_move = -(start[:, :-1] + move + after[:frames, 1:width]).exp()
    return -whole, of_stay, of_move


#: Operators with their schemas.
OPERATORS: dict[str, Any] = {
    "_lfilter_core_loop(Tensor waveform, Tensor a_coeffs_flipped, Tensor(a!) padded) -> ()":
        _lfilter_core_loop,
    "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, "
    "Tensor(c!) output) -> ()": _overdrive_core_loop,
    "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, "
    "int blank) -> (Tensor, Tensor)": forced_align,
    "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor "
    "target_lengths, int blank, float clamp, bool fused_log_softmax=True) -> (Tensor, Tensor)":
        rnnt_loss_forward,
}
