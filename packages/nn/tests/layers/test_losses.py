"""Losses against closed forms, and shapes they refuse."""

import math

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F


def pair(seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((4, 3)) * 2, rng.standard_normal((4, 3))


REDUCE = {"mean": np.mean, "sum": np.sum, "none": lambda losses: losses}

DISTANCES = [
    (nn.MSELoss, {}, lambda d: d**2),
    (nn.L1Loss, {}, np.abs),
    (nn.SmoothL1Loss, {}, lambda d: np.where(abs(d) < 1, d**2 / 2, abs(d) - 0.5)),
    (
        nn.SmoothL1Loss,
        {"beta": 2.5},
        lambda d: np.where(abs(d) < 2.5, d**2 / 5, abs(d) - 1.25),
    ),
    (nn.SmoothL1Loss, {"beta": 0}, np.abs),
    (
        nn.HuberLoss,
        {"delta": 0.7},
        lambda d: np.where(abs(d) < 0.7, d**2 / 2, 0.7 * (abs(d) - 0.35)),
    ),
]


@pytest.mark.parametrize("reduction", REDUCE)
@pytest.mark.parametrize(("kind", "options", "formula"), DISTANCES)
def test_distances(kind, options, formula, reduction):
    x, y = pair()
    loss = kind(reduction=reduction, **options)(flambeau.tensor(x), flambeau.tensor(y))
    np.testing.assert_allclose(loss.numpy(), REDUCE[reduction](formula(x - y)), rtol=1e-12)


@pytest.mark.parametrize("reduction", REDUCE)
def test_binary_cross_entropy(reduction):
    x, y = pair()
    p, y, w = 1 / (1 + np.exp(-x)), (y > 0) * 1.0, np.abs(pair(1)[0])
    losses = -w * (y * np.log(p) + (1 - y) * np.log(1 - p))
    tensors = [flambeau.tensor(value) for value in (p, x, y, w)]
    loss = nn.BCELoss(tensors[3], reduction=reduction)(tensors[0], tensors[2])
    np.testing.assert_allclose(loss.numpy(), REDUCE[reduction](losses), rtol=1e-10)
    loss = nn.BCEWithLogitsLoss(tensors[3], reduction=reduction)(tensors[1], tensors[2])
    np.testing.assert_allclose(loss.numpy(), REDUCE[reduction](losses), rtol=1e-10)


def test_binary_cross_entropy_stays_finite():
    certain = flambeau.tensor([0.0, 1.0])
    assert nn.BCELoss(reduction="none")(certain, 1 - certain).tolist() == [100.0, 100.0]
    scores = flambeau.tensor([-500.0, 500.0])
    loss = nn.BCEWithLogitsLoss(reduction="none")(scores, flambeau.tensor([1.0, 1.0]))
    assert loss.tolist() == [500.0, 0.0]


def test_pos_weight():
    loss = nn.BCEWithLogitsLoss(pos_weight=flambeau.tensor([3.0]), reduction="none")
    out = loss(flambeau.zeros(1), flambeau.ones(1)).item()
    assert out == pytest.approx(3 * math.log(2), rel=1e-6)


PAIRED = [nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss, nn.BCELoss, nn.BCEWithLogitsLoss]
PAIRED += [nn.KLDivLoss, nn.PoissonNLLLoss, nn.SoftMarginLoss, nn.HingeEmbeddingLoss]
PAIRED += [nn.MultiLabelSoftMarginLoss]


@pytest.mark.filterwarnings("ignore:.*batchmean")
@pytest.mark.parametrize("kind", PAIRED)
def test_shapes_that_would_broadcast_are_refused(kind):
    with pytest.raises(ValueError, match=r"shape \[8, 1\] and target \[8\].*view_as") as caught:
        kind()(flambeau.ones(8, 1), flambeau.ones(8))
    assert "flambeau.broadcast_tensors(input, target)" in str(caught.value)
    with pytest.raises(ValueError, match=r"\[2\] and target \[3\]") as caught:
        kind()(flambeau.ones(2), flambeau.ones(3))
    assert "broadcast_tensors" not in str(caught.value)


def test_losses_of_several_inputs_do_not_broadcast():
    wide, narrow, one = flambeau.ones(4, 3), flambeau.ones(1, 3), flambeau.ones(4)
    for call, text in (
        (lambda: nn.MarginRankingLoss()(wide, narrow, wide), r"input1 .* input2 \[1, 3\]"),
        (lambda: nn.MarginRankingLoss()(wide, wide, narrow), r"input1 .* target \[1, 3\]"),
        (lambda: nn.CosineEmbeddingLoss()(wide, narrow, one), r"input1 .* input2 \[1, 3\]"),
        (lambda: nn.CosineEmbeddingLoss()(wide, wide, one[:1]), "a target for each row"),
        (lambda: nn.TripletMarginLoss()(wide, narrow, wide), r"anchor .* positive \[1, 3\]"),
        (lambda: nn.TripletMarginLoss()(wide, wide, narrow), r"anchor .* negative \[1, 3\]"),
        (lambda: nn.GaussianNLLLoss()(wide, narrow, wide), r"input .* target \[1, 3\]"),
        (lambda: F.mse_loss(wide, wide, weight=narrow), r"input .* weight \[1, 3\]"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_broadcasting_on_purpose():
    x, y = flambeau.broadcast_tensors(flambeau.ones(4, 1), flambeau.zeros(3))
    assert nn.MSELoss(reduction="sum")(x, y).item() == 12.0


def test_options_are_checked():
    with pytest.raises(ValueError, match='"mean", "sum" or "none", not \'average\''):
        nn.MSELoss(reduction="average")
    with pytest.raises(ValueError, match="size_average is True, False or None, not 'sum'"):
        nn.MSELoss("sum")
    x = flambeau.ones(2)
    with pytest.raises(RuntimeError, match="beta must be at least 0"):
        F.smooth_l1_loss(x, x, beta=-1)
    with pytest.raises(RuntimeError, match="delta must be greater than 0"):
        F.huber_loss(x, x, delta=0)
    with pytest.raises(ValueError, match="reduction"):
        F.huber_loss(x, x, reduction="average")


def test_weighted_distances():
    x, y = flambeau.tensor([0.0, 3.0]), flambeau.tensor([1.0, 0.0])
    weight = flambeau.tensor([1.0, 3.0])
    assert F.mse_loss(x, y, weight=weight).item() == pytest.approx((1 + 3 * 9) / 4)
    assert F.l1_loss(x, y, weight=weight, reduction="sum").item() == pytest.approx(10)


def test_weighted_huber():
    x, y = flambeau.tensor([0.0, 3.0]), flambeau.tensor([1.0, 0.0])
    weight = flambeau.tensor([1.0, 3.0])
    assert F.huber_loss(x, y, weight=weight).item() == pytest.approx((0.5 + 3 * 2.5) / 2)
    assert F.huber_loss(x, y, weight=weight, reduction="sum").item() == pytest.approx(8.0)


def test_old_flags():
    x, y = flambeau.tensor([1.0, 3.0]), flambeau.tensor([0.0, 0.0])
    assert F.smooth_l1_loss(x, y, size_average=False).item() == 3.0
    assert F.smooth_l1_loss(x, y, reduce=False).tolist() == [0.5, 2.5]
    assert F.smooth_l1_loss(x, y, size_average=True).item() == 1.5
    assert nn.MSELoss(size_average=False).reduction == "sum"
    assert nn.CrossEntropyLoss(None, None, -1, False).reduction == "none"
    assert nn.BCEWithLogitsLoss(None, True).reduction == "mean"


def test_gradient_of_certain_probabilities():
    """Where ``x (1 - x)`` is 0 it counts as 1e-12, so that the gradient stays finite."""
    x = flambeau.tensor([0.0, 1.0, 0.0, 0.25], requires_grad=True, dtype=flambeau.float64)
    y = flambeau.tensor([1.0, 0.0, 0.0, 1.0], dtype=flambeau.float64)
    F.binary_cross_entropy(x, y, reduction="sum").backward()
    assert x.grad.tolist() == pytest.approx([-1e12, 1e12, 0.0, -4.0])


def test_losses_are_operators_that_can_be_traced():
    from flambeau.core import ops

    for name in ("binary_cross_entropy", "smooth_l1_loss", "huber_loss"):
        assert getattr(F, name) is getattr(ops, name)


A = np.array([[1.0, 2.0, -1.0], [0.5, -0.5, 2.0]])
B = np.array([[0.0, 1.0, 1.0], [2.0, 0.25, 2.5]])
C = np.array([[3.0, -1.0, 0.0], [0.5, 0.5, 1.5]])
SIGN = np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
ROWS_SIGN = np.array([1.0, -1.0])
COSINE = (A * B).sum(1) / np.sqrt((A * A).sum(1) * (B * B).sum(1))
NEAR, FAR = np.linalg.norm(A - B + 1e-6, axis=1), np.linalg.norm(A - C + 1e-6, axis=1)
PROBABILITY = np.exp(B) / np.exp(B).sum(1, keepdims=True)
COUNT = np.array([[0.0, 1.0, 4.0], [2.0, 3.0, 0.0]])
STIRLING = COUNT * np.log(np.maximum(COUNT, 1)) - COUNT
STIRLING += 0.5 * np.log(2 * np.pi * np.maximum(COUNT, 1))
CLOSED = [
    (nn.SoftMarginLoss, {}, (A, SIGN), np.log1p(np.exp(-A * SIGN))),
    (
        nn.HingeEmbeddingLoss,
        {"margin": 1.5},
        (A, SIGN),
        np.where(SIGN == 1, A, np.maximum(0, 1.5 - A)),
    ),
    (nn.MarginRankingLoss, {"margin": 0.5}, (A, B, SIGN), np.maximum(0, SIGN * (B - A) + 0.5)),
    (
        nn.CosineEmbeddingLoss,
        {"margin": 0.1},
        (A, B, ROWS_SIGN),
        np.where(ROWS_SIGN == 1, 1 - COSINE, np.maximum(0, COSINE - 0.1)),
    ),
    (nn.TripletMarginLoss, {"margin": 2.0}, (A, B, C), np.maximum(0, NEAR - FAR + 2)),
    (
        nn.TripletMarginWithDistanceLoss,
        {"distance_function": lambda a, b: (a - b).abs().sum(-1)},
        (A, B, C),
        np.maximum(0, np.abs(A - B).sum(1) - np.abs(A - C).sum(1) + 1),
    ),
    (nn.KLDivLoss, {}, (A, PROBABILITY), PROBABILITY * (np.log(PROBABILITY) - A)),
    (nn.KLDivLoss, {"log_target": True}, (A, B), np.exp(B) * (B - A)),
    (nn.PoissonNLLLoss, {}, (A, COUNT), np.exp(A) - COUNT * A),
    (
        nn.PoissonNLLLoss,
        {"full": True},
        (A, COUNT),
        np.exp(A) - COUNT * A + np.where(COUNT > 1, STIRLING, 0),
    ),
    (
        nn.GaussianNLLLoss,
        {"full": True},
        (A, B, np.exp(C)),
        0.5 * (C + (A - B) ** 2 / np.exp(C)) + 0.5 * np.log(2 * np.pi),
    ),
    (
        nn.MultiLabelSoftMarginLoss,
        {},
        (A, (SIGN + 1) / 2),
        np.log1p(np.exp(-A * SIGN)).mean(1),
    ),
]


@pytest.mark.filterwarnings("ignore:.*batchmean")
@pytest.mark.parametrize("reduction", REDUCE)
@pytest.mark.parametrize(("kind", "options", "given", "expected"), CLOSED)
def test_closed_forms(kind, options, given, expected, reduction):
    loss = kind(reduction=reduction, **options)(*map(flambeau.tensor, given))
    np.testing.assert_allclose(loss.numpy(), REDUCE[reduction](expected), rtol=1e-9, atol=1e-12)


def test_margins_between_classes():
    scores = flambeau.tensor([[0.1, 0.2, 0.4, 0.8]], dtype=flambeau.float64)
    loss = nn.MultiMarginLoss(p=2)(scores, flambeau.tensor([3]))
    assert loss.item() == pytest.approx((0.3**2 + 0.4**2 + 0.6**2) / 4)
    loss = nn.MultiLabelMarginLoss()(scores, flambeau.tensor([[3, 0, -1, 1]]))
    hinges = [1 - 0.8 + 0.2, 1 - 0.8 + 0.4, 1 - 0.1 + 0.2, 1 - 0.1 + 0.4]
    assert loss.item() == pytest.approx(sum(hinges) / 4)


def test_mean_of_divergences():
    given = flambeau.tensor(A), flambeau.tensor(PROBABILITY)
    total = (PROBABILITY * (np.log(PROBABILITY) - A)).sum()
    assert nn.KLDivLoss(reduction="batchmean")(*given).item() == pytest.approx(total / 2)
    with pytest.warns(UserWarning, match="batchmean"):
        nn.KLDivLoss()(*given)
    with pytest.raises(ValueError, match='"mean", "batchmean", "sum" or "none"'):
        nn.KLDivLoss(reduction="batch")
    with pytest.raises(ValueError, match='"mean", "sum" or "none"'):
        nn.MSELoss(reduction="batchmean")


def test_all_alignments_of_a_sequence():
    """The probability of a sequence is the sum over all ways to reach it, counted one by one."""
    import itertools

    p = np.random.default_rng(0).dirichlet(np.ones(3), 4)
    total = 0.0
    for path in itertools.product(range(3), repeat=4):
        kept = [k for k, _ in itertools.groupby(path)]
        if [k for k in kept if k != 0] == [1, 2]:
            total += np.prod([p[t, k] for t, k in enumerate(path)])
    log_p = flambeau.tensor(np.log(p))
    lengths = flambeau.tensor(4), flambeau.tensor(2)
    loss = nn.CTCLoss(reduction="sum")(log_p, flambeau.tensor([1, 2]), *lengths)
    assert loss.item() == pytest.approx(-math.log(total))
    short = log_p[:1].unsqueeze(1), flambeau.tensor([[1, 2]]), (1,), (2,)
    assert nn.CTCLoss()(*short).item() == math.inf
    assert nn.CTCLoss(zero_infinity=True)(*short).item() == 0.0


def test_distances_of_rows():
    a, b = flambeau.tensor(A), flambeau.tensor(B)
    out = nn.PairwiseDistance(keepdim=True)(a, b).numpy()
    np.testing.assert_allclose(out[:, 0], NEAR, rtol=1e-12)
    np.testing.assert_allclose(nn.CosineSimilarity()(a, b).numpy(), COSINE, rtol=1e-12)
    assert nn.CosineSimilarity(dim=0)(a[0] * 0, b[0]).item() == 0.0


@pytest.mark.parametrize("reduction", REDUCE)
def test_probabilities_outside_of_their_range(reduction):
    loss = nn.BCELoss(reduction=reduction)
    for x, y in ((1.5, 1.0), (1.5, 0.0), (-0.5, 1.0), (-0.5, 0.0), (math.nan, 1.0)):
        with pytest.raises(RuntimeError, match="between 0 and 1, got .*_with_logits"):
            loss(flambeau.tensor([x, 0.5]), flambeau.tensor([y, 1.0]))
    assert loss(flambeau.tensor([0.5]), flambeau.tensor([math.nan])).isnan().all()
    assert loss(flambeau.zeros(0), flambeau.zeros(0)).numel() == (reduction != "none")
    absent = flambeau.zeros(2, device="meta")
    assert loss(absent, absent).is_meta


def test_probabilities_of_a_batch_that_is_vectorized():
    func = pytest.importorskip("flambeau.func")
    out = func.vmap(nn.BCELoss())(flambeau.tensor([[0.5], [2.0]]), flambeau.ones(2, 1))
    assert out.isnan().tolist() == [False, True]
