"""Cross-entropy and negative log-likelihood: closed forms, what is ignored, and refusals."""

import math

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F

REDUCE = ("mean", "sum", "none")


@pytest.mark.parametrize("reduction", REDUCE)
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_and_nll(reduction, weighted):
    x = np.random.default_rng(0).standard_normal((6, 4))
    target = np.array([0, 3, 1, -1, 2, 2])
    w = np.array([0.5, 2.0, 1.0, 3.0]) if weighted else np.ones(4)
    log_p = x - np.log(np.exp(x).sum(1, keepdims=True))
    counted = target >= 0
    weights = np.where(counted, w[target], 0)
    losses = -log_p[np.arange(6), target] * weights
    expected = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / weights.sum()}
    options = {
        "weight": flambeau.tensor(w) if weighted else None,
        "ignore_index": -1,
        "reduction": reduction,
    }
    t = flambeau.tensor(target)
    loss = nn.CrossEntropyLoss(**options)(flambeau.tensor(x), t)
    np.testing.assert_allclose(loss.numpy(), expected[reduction], rtol=1e-10, atol=1e-12)
    loss = nn.NLLLoss(**options)(flambeau.tensor(log_p), t)
    np.testing.assert_allclose(loss.numpy(), expected[reduction], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weight", [None, (1.0, 600.0, 3.0)])
def test_more_rows_than_halves_count(weight, smoothing):
    """Weights of 70,000 rows sum up beyond float16: loss and gradient are those of float32."""
    rng = np.random.default_rng(0)
    x, target = rng.standard_normal((70_000, 3)), flambeau.tensor(rng.integers(0, 3, 70_000))

    def results(dtype, function, **options):
        leaf = flambeau.tensor(x).half().to(dtype).requires_grad_()
        weights = None if weight is None else flambeau.tensor(weight, dtype=dtype)
        loss = function(leaf, target, weights, **options)
        loss.backward(flambeau.tensor(1000.0, dtype=dtype))
        return loss.item(), leaf.grad.float().numpy()

    functions = [(F.cross_entropy, {"label_smoothing": smoothing})]
    for function, options in functions if smoothing else [*functions, (F.nll_loss, {})]:
        loss, slope = results(flambeau.float16, function, **options)
        wanted, steep = results(flambeau.float32, function, **options)
        assert loss == pytest.approx(wanted, rel=2e-3)
        np.testing.assert_allclose(slope, steep, rtol=5e-3, atol=1e-5)


def test_label_smoothing():
    x = np.random.default_rng(0).standard_normal((5, 4))
    target = np.array([0, 3, 1, 2, 2])
    log_p = x - np.log(np.exp(x).sum(1, keepdims=True))
    smooth = np.full((5, 4), 0.2 / 4)
    smooth[np.arange(5), target] += 0.8
    loss = nn.CrossEntropyLoss(label_smoothing=0.2)(flambeau.tensor(x), flambeau.tensor(target))
    assert loss.item() == pytest.approx(-(smooth * log_p).sum(1).mean(), rel=1e-10)


def test_cross_entropy_refuses_what_means_nothing():
    x = flambeau.zeros(2, 3)
    with pytest.raises(RuntimeError, match="between 0.0 and 1.0, got 1.5"):
        nn.CrossEntropyLoss(label_smoothing=1.5)(x, flambeau.tensor([0, 1]))
    with pytest.raises(RuntimeError, match="between 0.0 and 1.0, got -0.1"):
        nn.CrossEntropyLoss(label_smoothing=-0.1)(x, flambeau.tensor([0, 1]))
    with pytest.raises(RuntimeError, match="ignore_index=1 is not supported"):
        nn.CrossEntropyLoss(ignore_index=1)(x, flambeau.ones(2, 3))
    with pytest.raises(RuntimeError, match="kl_div.*target holds flambeau.int64"):
        F.kl_div(x, flambeau.ones(2, 3, dtype=flambeau.int64), reduction="sum")


def test_classes_may_be_bytes():
    x = flambeau.randn(3, 4)
    target = flambeau.tensor([0, 3, 1])
    for function in (F.cross_entropy, F.nll_loss):
        assert function(x, target.to(flambeau.uint8)).item() == function(x, target).item()


@pytest.mark.parametrize("reduction", REDUCE)
def test_nothing_and_everything_ignored(reduction):
    """The mean of no terms is not a number; their sum is zero."""
    loss = nn.CrossEntropyLoss(ignore_index=1, reduction=reduction)
    out = loss(flambeau.zeros(2, 3), flambeau.tensor([1, 1]))
    empty = loss(flambeau.zeros(0, 3), flambeau.zeros(0, dtype=flambeau.int64))
    if reduction == "mean":
        assert math.isnan(out.item())
        assert math.isnan(empty.item())
    elif reduction == "sum":
        assert out.item() == empty.item() == 0
    else:
        assert out.tolist() == [0, 0]
        assert tuple(empty.shape) == (0,)


@pytest.mark.parametrize("reduction", REDUCE)
@pytest.mark.parametrize("weighs", [False, True])
def test_cross_entropy_with_and_without_gradients(reduction, weighs):
    x = np.random.default_rng(0).standard_normal((5, 4)) * 3
    x[3] = (-np.inf, 1, 2, 3)
    target, weight = np.array([2, 0, 1, 0, 3]), np.array([0.5, 1.0, 2.0, 0.0])
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    shares = (weight if weighs else np.ones(4))[target] * (target != 1)
    with np.errstate(invalid="ignore"):
        each = np.where(target == 1, 0, -logs[range(5), target] * shares)
        wanted = {"none": each, "sum": each.sum(), "mean": each.sum() / shares.sum()}[reduction]
    for needs in (False, True):
        scores = flambeau.tensor(x, dtype=flambeau.float64, requires_grad=needs)
        found = F.cross_entropy(scores, flambeau.tensor(target), ignore_index=1,
                                weight=flambeau.tensor(weight) if weighs else None,
                                reduction=reduction)
        np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("wrong", [-1, 4])
def test_cross_entropy_names_targets_out_of_bounds(wrong):
    target = flambeau.tensor([0, wrong, 1])
    for scores in (flambeau.zeros(3, 4), flambeau.zeros(3, 4, requires_grad=True)):
        with pytest.raises(IndexError, match=rf"Target {wrong} \(element 1\).*4 classes"):
            F.cross_entropy(scores, target)


def test_negative_likelihood_of_scores_that_classes_share():
    for dtype in (flambeau.float32, flambeau.bfloat16):
        shared = flambeau.tensor([[1.0], [2.0], [3.0]], dtype=dtype).expand(3, 4)
        found = F.nll_loss(shared, flambeau.tensor([3, 0, 2]), reduction="none")
        assert found.tolist() == [-1, -2, -3]
