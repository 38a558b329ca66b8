"""The loss of a linear map: against the two steps, against PyTorch, and in pieces."""

import itertools

import numpy as np
import pytest
from modules_kit import Given, against_torch, check_invariants, refuses, row

import flambeau
from flambeau import nn
from flambeau.nn import functional as F


def classes(*shape):
    return Given(lambda rng: np.array(rng.integers(0, 7, shape)))


def probabilities(*shape):
    def make(rng):
        scores = np.exp(rng.standard_normal(shape))
        return scores / scores.sum(1, keepdims=True)

    return Given(make, grad=True)


LOSS = "LinearCrossEntropyLoss"
ROWS = [
    *(row(LOSS, 4, 7, reduction=r, inputs=[[(5, 4), classes(5)]]) for r in ("mean", "sum", "none")),
    row(LOSS, 4, 7, bias=True, ignore_index=2, inputs=[[(9, 4), classes(9)]]),
    row(LOSS, 4, 7, label_smoothing=0.1, inputs=[[(5, 4), classes(5)], [(4,), classes()]]),
    row(LOSS, 4, 7, inputs=[[(5, 4), probabilities(5, 7)]]),
    row(LOSS, 4, 7, out_features=(2, 3), bias=True, inputs=[[(5, 4), classes(5, 2, 3)]]),
    row(LOSS, 4, 7, out_features=(2,), inputs=[[(5, 4), probabilities(5, 7, 2)]]),
]


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_against_torch(row, dtype):
    against_torch(row, dtype)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_invariants(row):
    check_invariants(row)


SIZES = [
    nn.LinearCrossEntropyOptions(),
    nn.LinearCrossEntropyOptions(batch_chunk_size=4, chunking_method=None),
    nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio"),
    nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:4"),
    nn.LinearCrossEntropyOptions(chunking_method=None),
]
SETTINGS = list(itertools.product(("mean", "sum", "none"), (False, True), (0.0, 0.2)))


@pytest.mark.parametrize("options", SIZES, ids=lambda value: str(value.rows(10, 4, 30)))
@pytest.mark.parametrize(("reduction", "weighted", "smoothing"), SETTINGS)
def test_pieces_give_what_the_whole_gives(options, reduction, weighted, smoothing):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in ((10, 4), (30, 4), (30,))]
    target = flambeau.tensor(rng.integers(0, 30, 10))
    target[3] = -100
    settings = {
        "weight": flambeau.tensor(rng.random(30)) if weighted else None,
        "reduction": reduction,
        "label_smoothing": smoothing,
    }
    results = []
    for pieces in (None, options):
        x, w, b = (flambeau.tensor(each, requires_grad=True) for each in arrays)
        loss = F.linear_cross_entropy(x, w, target, linear_bias=b, options=pieces, **settings)
        loss.sum().backward(retain_graph=True)
        results.append([loss.detach(), x.grad, w.grad, b.grad])
    for whole, pieced in zip(*results, strict=True):
        np.testing.assert_allclose(pieced.numpy(), whole.numpy(), rtol=1e-10, atol=1e-12)


def test_the_two_steps():
    x, w = flambeau.randn(6, 4), flambeau.randn(7, 4)
    target = flambeau.tensor([0, 6, 3, 3, 1, 2])
    expected = F.cross_entropy(x @ w.T, target, ignore_index=3)
    loss = F.linear_cross_entropy(x, w, target, ignore_index=3)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)


def test_half_precision_is_accumulated_in_float32():
    x, w = flambeau.randn(64, 16).half(), flambeau.randn(50, 16).half()
    target = flambeau.randint(0, 50, (64,))
    options = nn.LinearCrossEntropyOptions(acc_dtype=flambeau.float32, batch_chunk_size=8)
    loss = F.linear_cross_entropy(x, w, target, options=options)
    exact = F.cross_entropy(x.double() @ w.double().T, target)
    assert loss.dtype == flambeau.float16
    assert loss.item() == pytest.approx(exact.item(), rel=1e-3)


def test_errors():
    x, w, t = flambeau.ones(2, 4), flambeau.ones(7, 4), flambeau.tensor([0, 1])
    for arguments, options, text in (
        ((x, flambeau.ones(7, 3), t), {}, r"\(2, 4\) and linear_weight \(7, 3\)"),
        ((x, flambeau.ones(4), t), {}, "linear_weight"),
        ((x[None], w, t), {}, r"not input \(1, 2, 4\)"),
        ((x[0], flambeau.ones(7, 3, 4), t), {}, "several positions"),
        ((x, w, t), {"linear_bias": flambeau.ones(3)}, r"shape \(7,\), not \(3,\)"),
        ((x, w, flambeau.ones(2, 7)), {"ignore_index": 1}, "leave it out"),
    ):
        with pytest.raises(RuntimeError, match=text):
            F.linear_cross_entropy(*arguments, **options)
    for options in (
        {"acc_policy": "fast"},
        {"chunking_method": "rows"},
        {"chunking_method": "aspect_ratio:0"},
        {"batch_chunk_size": 0},
        {"acc_dtype": flambeau.int64},
    ):
        with pytest.raises(ValueError, match=next(iter(options))):
            nn.LinearCrossEntropyOptions(**options)
    disagree = nn.LinearCrossEntropyOptions(batch_chunk_size=3, chunking_method="aspect_ratio")
    with pytest.raises(ValueError, match="disagree"):
        F.linear_cross_entropy(x, w, t, options=disagree)


@pytest.mark.oracle
def test_errors_of_the_same_type():
    make = "LinearCrossEntropyLoss"
    refuses(lambda p: getattr(p.nn, make)(4, 7, weight=p.ones(3)), RuntimeError, "weight")
    refuses(lambda p: getattr(p.nn, make)(4, 7, label_smoothing=2.0), RuntimeError, "smoothing")
    refuses(
        lambda p: getattr(p.nn, make)(4, 7)(p.ones(2, 3), p.tensor([0, 1])), RuntimeError, "linear"
    )
