"""Losses and distances against PyTorch: every reduction, input gradients, float32 and float64."""

import numpy as np
import pytest
from modules_kit import Given, against_torch, check_invariants, refuses, row

import flambeau


def positive(*shape):
    return Given(lambda rng: rng.random(shape) * 0.96 + 0.02, grad=True)


def classes(count, *shape):
    return Given(lambda rng: rng.integers(0, count, shape))


def signs(*shape):
    return Given(lambda rng: np.array(rng.integers(0, 2, shape) * 2.0 - 1))


def bits(*shape):
    return Given(lambda rng: rng.integers(0, 2, shape) * 1.0)


def counts(*shape):
    return Given(lambda rng: rng.integers(0, 6, shape) * 1.0)


def log_probabilities(*shape):
    def make(rng):
        scores = rng.standard_normal(shape)
        return scores - np.log(np.exp(scores).sum(-1, keepdims=True))

    return Given(make, grad=True)


def probabilities(*shape, dim=1):
    def make(rng):
        scores = np.exp(rng.standard_normal(shape))
        return scores / scores.sum(dim, keepdims=True)

    return Given(make, grad=True)


def listed(*rows):
    return Given(lambda rng: np.array(rows))


S = (4, 3)
PAIR = [[S, S], [(), ()], [(5,), (5,)]]
REDUCTIONS = ("mean", "sum", "none")


def reduced(name, *args, reductions=REDUCTIONS, **options):
    return [row(name, *args, reduction=kind, **options) for kind in reductions]


ROWS = [
    *reduced("MSELoss", inputs=PAIR),
    *reduced("L1Loss", inputs=PAIR),
    *reduced("SmoothL1Loss", beta=0.4, inputs=PAIR),
    *reduced("HuberLoss", delta=0.4, inputs=PAIR),
    *reduced("BCELoss", inputs=[[positive(*S), bits(*S)]]),
    *reduced("BCEWithLogitsLoss", inputs=[[S, positive(*S)], [(3,), bits(3)]]),
    *reduced(
        "NLLLoss",
        ignore_index=2,
        inputs=[
            [log_probabilities(5, 4), classes(4, 5)],
            [log_probabilities(4), Given(lambda rng: np.array(1))],
            [(2, 4, 3, 2), classes(4, 2, 3, 2)],
        ],
    ),
    *reduced(
        "CrossEntropyLoss",
        ignore_index=1,
        label_smoothing=0.2,
        inputs=[[(5, 4), classes(4, 5)], [(2, 4, 3), classes(4, 2, 3)]],
    ),
    *reduced(
        "CrossEntropyLoss",
        label_smoothing=0.1,
        inputs=[[(5, 4), probabilities(5, 4)], [(2, 4, 3, 2), probabilities(2, 4, 3, 2)]],
    ),
    *reduced("CrossEntropyLoss", inputs=[[(5, 4), classes(4, 5)], [(5,), probabilities(5, dim=0)]]),
    *reduced("MultiMarginLoss", inputs=[[(5, 4), classes(4, 5)]]),
    *reduced("MultiMarginLoss", p=2, margin=0.3, inputs=[[(5, 4), classes(4, 5)]]),
    *reduced(
        "MultiLabelMarginLoss",
        inputs=[[(2, 4), listed([3, 0, -1, 1], [0, 1, 2, 3])], [(4,), listed(2, -1, 3, 0)]],
    ),
    *reduced("MultiLabelSoftMarginLoss", inputs=[[S, bits(*S)], [(4,), bits(4)]]),
    *reduced("SoftMarginLoss", inputs=[[S, signs(*S)]]),
    *reduced("PoissonNLLLoss", inputs=[[S, counts(*S)]]),
    *reduced("PoissonNLLLoss", full=True, inputs=[[S, counts(*S)]], smooth=False),
    *reduced("PoissonNLLLoss", log_input=False, eps=0.1, inputs=[[positive(*S), counts(*S)]]),
    *reduced("GaussianNLLLoss", inputs=[[S, S, positive(*S)], [S, S, positive(4, 1)]]),
    *reduced("GaussianNLLLoss", full=True, eps=0.3, inputs=[[S, S, positive(4)]], smooth=False),
    *reduced("GaussianNLLLoss", inputs=[[S, S, Given(lambda rng: 0.7)]]),
    *reduced(
        "KLDivLoss",
        reductions=("batchmean", "mean", "sum", "none"),
        inputs=[[log_probabilities(*S), probabilities(*S)]],
    ),
    *reduced(
        "KLDivLoss",
        log_target=True,
        reductions=("batchmean", "sum", "none"),
        inputs=[[log_probabilities(*S), log_probabilities(*S)]],
    ),
    *reduced("MarginRankingLoss", inputs=[[(5,), (5,), signs(5)]]),
    *reduced("MarginRankingLoss", 0.6, inputs=[[S, S, signs(*S)]]),
    *reduced("CosineEmbeddingLoss", inputs=[[S, S, signs(4)], [(3,), (3,), signs()]]),
    *reduced("CosineEmbeddingLoss", margin=0.2, inputs=[[S, S, signs(4)]]),
    *reduced("HingeEmbeddingLoss", inputs=[[S, signs(*S)]]),
    *reduced("HingeEmbeddingLoss", 0.4, inputs=[[S, signs(*S)]]),
    *reduced("TripletMarginLoss", inputs=[[S, S, S], [(3,), (3,), (3,)]]),
    *reduced("TripletMarginLoss", 2.0, p=1.0, swap=True, inputs=[[S, S, S]]),
    *reduced("TripletMarginWithDistanceLoss", inputs=[[S, S, S]]),
    *reduced("TripletMarginWithDistanceLoss", margin=0.5, swap=True, inputs=[[S, S, S]]),
    row("PairwiseDistance", inputs=[[S, S], [(3,), (3,)], [S, (1, 3)]]),
    row("PairwiseDistance", p=1, eps=1e-3, keepdim=True, inputs=[[S, S], [(3,), (3,)]]),
    row("PairwiseDistance", float("inf"), inputs=[[S, S]], smooth=False),
    row("CosineSimilarity", inputs=[[S, S], [(2, 3, 4), (2, 3, 4)]]),
    row("CosineSimilarity", dim=0, eps=0.1, inputs=[[S, S], [S, (4, 1)]]),
]
DIVERGENCE = pytest.mark.filterwarnings("ignore:.*batchmean")


@DIVERGENCE
@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_against_torch(row, dtype):
    against_torch(row, dtype)


@DIVERGENCE
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_invariants(row):
    check_invariants(row)


def made(package, values):
    return package.tensor(np.asarray(values))


WEIGHTED = {
    "MultiMarginLoss": ([0.5, 2.0, 1.0, 3.0], {"p": 2}, (5, 4), [0, 3, 1, 2, 2]),
    "MultiLabelSoftMarginLoss": ([0.5, 2.0, 1.0], {}, (2, 3), [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]),
    "NLLLoss": ([0.5, 2.0, 1.0, 3.0], {"ignore_index": 3}, (5, 4), [0, 3, 1, 2, 2]),
    "CrossEntropyLoss": ([0.5, 2.0, 1.0, 3.0], {"label_smoothing": 0.2}, (5, 4), [0, 3, 1, 2, 2]),
    "BCELoss": ([0.5, 2.0], {}, (3, 2), [[1.0, 0.0], [0.25, 1.0], [0.0, 0.0]]),
}


@pytest.mark.oracle
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", WEIGHTED)
def test_weights(name, reduction):
    torch = pytest.importorskip("torch")
    weight, options, shape, target = WEIGHTED[name]
    x = np.random.default_rng(0).random(shape)
    outs = []
    for package in (flambeau, torch):
        kind = getattr(package.nn, name)
        layer = kind(weight=made(package, weight), reduction=reduction, **options)
        assert list(layer.state_dict()) == ["weight"]
        given = made(package, x).requires_grad_()
        loss = layer(given, made(package, target))
        loss.sum().backward()
        outs.append((loss.detach().numpy(), given.grad.numpy()))
    for mine, theirs in zip(*outs, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weighted_distances(name, reduction):
    torch = pytest.importorskip("torch")
    arrays = np.random.default_rng(0).random((3, 2, 4))
    losses = []
    for package in (flambeau, torch):
        x, y, w = (made(package, each) for each in arrays)
        function = getattr(package.nn.functional, name)
        losses.append(function(x, y, reduction=reduction, weight=w).numpy())
    np.testing.assert_allclose(*losses, rtol=1e-12)


def ctc(package, shape, targets, lengths, dtype="float64", **options):
    """Loss and gradient of a CTC loss over the same random scores."""
    scores = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    x = made(package, scores).requires_grad_()
    targets = made(package, targets)
    loss = package.nn.CTCLoss(**options)(x.log_softmax(-1), targets, *lengths(package))
    loss.sum().backward()
    return loss.detach().numpy(), x.grad.numpy()


def tuples(*lengths):
    return lambda package: lengths


def tensors(*lengths):
    return lambda package: [made(package, each) for each in lengths]


CTC = {
    "padded": ((7, 3, 5), [[1, 2, 2], [3, 3, 4], [1, 4, 0]], tensors([7, 6, 5], [3, 3, 2]), {}),
    "tuples": ((7, 3, 5), [[1, 2, 2], [3, 3, 4], [1, 4, 0]], tuples((7, 7, 7), (3, 2, 1)), {}),
    "joined": ((6, 2, 4), [1, 2, 3, 3], tuples((6, 5), (3, 1)), {}),
    "blank": ((6, 2, 4), [[0, 1], [2, 2]], tuples((6, 6), (2, 2)), {"blank": 3}),
    "single": ((6, 4), [1, 3], tensors(6, 2), {}),
    "too long": (
        (3, 2, 4),
        [[1, 1, 1], [1, 2, 0]],
        tuples((3, 3), (3, 2)),
        {"zero_infinity": True},
    ),
    "empty target": ((4, 2, 3), [[1], [0]], tuples((4, 4), (1, 0)), {}),
}


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("case", CTC)
def test_ctc(case, reduction, dtype):
    torch = pytest.importorskip("torch")
    *given, options = CTC[case]
    mine = ctc(flambeau, *given, reduction=reduction, dtype=dtype, **options)
    theirs = ctc(torch, *given, reduction=reduction, dtype=dtype, **options)
    rtol = 1e-9 if dtype == "float64" else 1e-4
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol / 10)


@pytest.mark.oracle
def test_errors_of_the_same_type():
    def zeros(package, *shape):
        return package.zeros(*shape)

    refuses(lambda p: p.nn.MultiMarginLoss(p=3), ValueError, "p=1 or p=2, not 3")
    refuses(lambda p: p.nn.TripletMarginLoss(0), ValueError, "margin")
    refuses(lambda p: p.nn.TripletMarginWithDistanceLoss(margin=-1), ValueError, "margin")
    refuses(
        lambda p: p.nn.GaussianNLLLoss()(zeros(p, 2), zeros(p, 2), -p.ones(2)),
        ValueError,
        "negative",
    )
    refuses(
        lambda p: p.nn.GaussianNLLLoss()(zeros(p, 2, 3), zeros(p, 2, 3), zeros(p, 2, 2)),
        ValueError,
        "incorrect size",
    )
    refuses(
        lambda p: p.nn.CosineEmbeddingLoss()(zeros(p, 2, 3), zeros(p, 2, 3), zeros(p, 2, 1)),
        RuntimeError,
        "target",
    )
    refuses(
        lambda p: p.nn.CrossEntropyLoss()(zeros(p, 2, 3), p.tensor([0, 3])),
        IndexError,
        "out of bounds|out of range",
    )
    refuses(
        lambda p: p.nn.MultiLabelMarginLoss()(zeros(p, 2, 3), p.tensor([[0, 1], [1, 0]])),
        RuntimeError,
        "inconsistent target size",
    )
