"""Connectionist temporal classification beside sums in log space, far out of range as well."""

import numpy as np
import pytest

import flambeau
from flambeau.nn import functional as F


def log_space(scores, target, blank):
    """The loss of one item and its gradient for the scores (Graves et al., 2006)."""
    steps, states = len(scores), [blank]
    for label in target:
        states += [label, blank]
    skips = [k > 1 and k % 2 and states[k] != states[k - 2] for k in range(len(states))]
    alpha = np.full((steps, len(states)), -np.inf)
    beta = alpha.copy()
    alpha[0, :2] = scores[0, states[:2]]
    beta[-1, -2:] = 0
    for t in range(1, steps):
        for k in range(len(states)):
            before = [alpha[t - 1, k - i] for i in range(3) if k >= i and (i < 2 or skips[k])]
            alpha[t, k] = np.logaddexp.reduce(before) + scores[t, states[k]]
    for t in range(steps - 2, -1, -1):
        for k in range(len(states)):
            after = [beta[t + 1, j] + scores[t + 1, states[j]]
                     for i in range(3) if (j := k + i) < len(states) and (i < 2 or skips[j])]
            beta[t, k] = np.logaddexp.reduce(after)
    likelihood = np.logaddexp.reduce(alpha[-1, -2:])
    grad = np.exp(scores)
    for k, label in enumerate(states):
        grad[:, label] -= np.exp(alpha[:, k] + beta[:, k] - likelihood)
    return -likelihood, grad


def check(scores, targets, blank=0):
    batch = len(targets)
    x = flambeau.from_numpy(scores).requires_grad_()
    joined = flambeau.tensor([label for target in targets for label in target],
                             dtype=flambeau.int64)
    lengths = flambeau.tensor([len(target) for target in targets])
    steps = flambeau.full((batch,), len(scores), dtype=flambeau.int64)
    losses = F.ctc_loss(x, joined, steps, lengths, blank=blank, reduction="none")
    losses.sum().backward()
    for i, target in enumerate(targets):
        loss, grad = log_space(scores[:, i], target, blank)
        np.testing.assert_allclose(losses[i].item(), loss, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(x.grad[:, i].numpy(), grad, rtol=1e-7, atol=1e-9)


def draw(steps, batch, classes, scale, seed=0):
    scores = np.random.default_rng(seed).standard_normal((steps, batch, classes)) * scale
    return scores - np.logaddexp.reduce(scores, axis=2, keepdims=True)


TARGETS = [[], [1], [1, 1], [1, 2, 1], [3, 3, 3], [4, 2, 2, 1, 3]]


@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize("steps", [9, 30, 200])
def test_scores_of_every_size(scale, steps):
    check(draw(steps, len(TARGETS), 5, scale), TARGETS)
    check(draw(steps, 6, 5, scale, 1), [[0], [0, 0], [1, 0], [], [3, 2, 3], [2]], blank=4)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_long_sequences(scale):
    rng = np.random.default_rng(0)
    targets = [list(rng.integers(1, 8, n)) for n in (100, 3, 40)]
    check(draw(700, 3, 8, scale), targets)


def test_scores_that_are_no_logarithms_of_probabilities():
    check(draw(20, 3, 5, 1.0) + 3, [[1, 2], [3], []])
    check(draw(400, 3, 5, 1.0) - 50, [[1, 2], [3], []])


def test_paths_that_come_from_behind():
    """The likelier start is a dead end; what is left was 1e-350 of it."""
    scores = np.full((6, 1, 3), -900.0)
    scores[:, 0, 2] = 0                                         # a class of no path
    scores[0, 0] = scores[1, 0] = [0, -400, -900]
    scores[2:, 0] = [-800, 0, -900]
    check(scores, [[1]])
    scores[1, 0] = [-400, -400, -900]
    check(scores, [[1, 1]])


def test_what_is_impossible():
    scores = draw(3, 2, 4, 1.0)
    lengths = flambeau.tensor([3, 2]), flambeau.tensor([3, 2])
    targets = flambeau.tensor([[1, 1, 2], [2, 2, 0]])
    losses = F.ctc_loss(flambeau.from_numpy(scores), targets, *lengths, reduction="none")
    assert losses.tolist() == [float("inf")] * 2
    scores[1] = -np.inf
    losses = F.ctc_loss(flambeau.from_numpy(scores), flambeau.tensor([[1], [2]]),
                        lengths[0], flambeau.tensor([1, 1]), reduction="none")
    assert losses.tolist() == [float("inf")] * 2
    scores[1] = np.nan
    losses = F.ctc_loss(flambeau.from_numpy(scores), flambeau.tensor([[1], [2]]),
                        lengths[0], flambeau.tensor([1, 1]), reduction="none")
    assert losses.isnan().all()
