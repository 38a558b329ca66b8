"""Adafactor and Muon, whose steps look at whole matrices, against NumPy and PyTorch."""

import numpy as np
import pytest
from leaves import leaf

import flambeau
from flambeau import optim

STEPS = 30
SHAPES = [(4, 3), (5,), (2, 3, 4), ()]


def gradients(shape, seed=0):
    return np.random.default_rng(seed).standard_normal((STEPS, *shape))


def rms(x):
    return np.sqrt(np.mean(x * x))


def adafactor(start, lr, beta2_decay, eps, d, weight_decay, maximize):
    """The algorithm of the paper, with means instead of sums."""
    p, rows, columns, squares, trace = start.copy(), 0.0, 0.0, 0.0, []
    least = np.finfo(np.float64).eps if eps[0] is None else eps[0]
    for t, grad in enumerate(gradients(start.shape), 1):
        grad = -grad if maximize else grad
        keep = 1 - t**beta2_decay
        size = max(eps[1], rms(p)) * min(lr, 1 / np.sqrt(t))
        if grad.ndim > 1:
            rows = keep * rows + (1 - keep) * np.mean(grad**2, -1, keepdims=True)
            columns = keep * columns + (1 - keep) * np.mean(grad**2, -2, keepdims=True)
            estimate = rows * columns / np.maximum(np.mean(rows, -2, keepdims=True), least)
        else:
            estimate = squares = keep * squares + (1 - keep) * grad**2
        update = grad / np.sqrt(np.maximum(estimate, least**2))
        p = (1 - lr * weight_decay) * p - size * update / max(1.0, rms(update) / d)
        trace.append(p)
    return trace


ADAFACTOR = [
    {},
    {"lr": 0.5, "beta2_decay": -0.5},
    {"lr": 0.1, "eps": (1e-3, 0.5), "d": 2.0},
    {"lr": 0.1, "weight_decay": 0.3, "maximize": True},
]
ADAFACTOR_DEFAULTS = {
    "lr": 1e-2,
    "beta2_decay": -0.8,
    "eps": (None, 1e-3),
    "d": 1.0,
    "weight_decay": 0.0,
    "maximize": False,
}


def follow(t, kind, start, dtype, **options):
    dtype = getattr(t, dtype)
    p = leaf(t.tensor(start, dtype=dtype)) if t is flambeau else t.tensor(start, dtype=dtype)
    optimizer = getattr(t.optim, kind)([p], **options)
    trace = []
    for grad in gradients(start.shape):
        p.grad = t.tensor(grad, dtype=dtype)
        optimizer.step()
        trace.append(p.detach().to(t.float64).numpy().copy())
    return trace


def starting(shape):
    return np.random.default_rng(7).standard_normal(shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("options", ADAFACTOR, ids=str)
def test_adafactor(shape, options):
    mine = follow(flambeau, "Adafactor", starting(shape), "float64", **options)
    expected = adafactor(starting(shape), **{**ADAFACTOR_DEFAULTS, **options})
    np.testing.assert_allclose(mine, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("options", ADAFACTOR, ids=str)
@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-9), ("float32", 1e-4)])
def test_adafactor_as_in_pytorch(shape, options, dtype, rtol):
    torch = pytest.importorskip("torch")
    mine = follow(flambeau, "Adafactor", starting(shape), dtype, **options)
    theirs = follow(torch, "Adafactor", starting(shape), dtype, **options)
    np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol)


def test_adafactor_s_state_is_small():
    p = leaf(np.ones((6, 4)), grad=np.ones((6, 4)))
    optimizer = optim.Adafactor([p])
    optimizer.step()
    state = optimizer.state[p]
    assert list(state) == ["step", "row_var", "col_var"]
    assert (tuple(state["row_var"].shape), tuple(state["col_var"].shape)) == ((6, 1), (1, 4))


def test_adafactor_refuses():
    with pytest.raises(ValueError, match="real parameters"):
        optim.Adafactor([leaf([1j], dtype=flambeau.complex64)])
    for options, text in (
        ({"beta2_decay": 0.1}, "at most 0"),
        ({"d": 0.5}, "d is at least 1"),
        ({"eps": (-1.0, 0.0)}, r"eps\[0\]"),
        ({"eps": (None, -1.0)}, r"eps\[1\]"),
    ):
        with pytest.raises(ValueError, match=text):
            optim.Adafactor([leaf([1.0])], **options)


def muon(start, lr, weight_decay, momentum, nesterov, adjust):
    """The same in double precision."""
    p, buffer, trace = start.copy(), np.zeros_like(start), []
    for grad in gradients(start.shape):
        buffer = momentum * buffer + (1 - momentum) * grad
        x = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
        x = x / np.linalg.norm(x)
        tall = x.shape[0] > x.shape[1]
        x = x.T if tall else x
        for _ in range(5):
            gram = x @ x.T
            x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
        x = x.T if tall else x
        p = (1 - lr * weight_decay) * p - lr * adjust(*p.shape) * x
        trace.append(p)
    return trace


ORIGINAL = {"original": lambda a, b: max(1, a / b) ** 0.5}
ADJUSTMENTS = {**ORIGINAL, "match_rms_adamw": lambda a, b: 0.2 * max(a, b) ** 0.5}


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6)], ids=str)
@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("adjust", ADJUSTMENTS)
def test_muon(shape, nesterov, adjust):
    options = {"lr": 0.01, "weight_decay": 0.1, "momentum": 0.9, "nesterov": nesterov}
    mine = follow(flambeau, "Muon", starting(shape), "float64", adjust_lr_fn=adjust, **options)
    expected = muon(starting(shape), adjust=ADJUSTMENTS[adjust], **options)
    np.testing.assert_allclose(mine, expected, atol=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6)], ids=str)
@pytest.mark.parametrize(
    "options",
    [{}, {"lr": 0.1, "momentum": 0.5}, {"nesterov": False}, {"adjust_lr_fn": "match_rms_adamw"}],
    ids=str,
)
def test_muon_as_in_pytorch(shape, options):
    torch = pytest.importorskip("torch")
    mine = follow(flambeau, "Muon", starting(shape), "float32", **options)
    theirs = follow(torch, "Muon", starting(shape), "float32", **options)
    # PyTorch computes directions in bfloat16, that is with two or three digits.
    np.testing.assert_allclose(mine, theirs, atol=options.get("lr", 1e-3))


def test_muon_is_for_matrices():
    for wrong in (leaf([1.0]), leaf(np.ones((2, 2, 2))), leaf([[1j]], dtype=flambeau.complex64)):
        with pytest.raises(ValueError, match="real matrices"):
            optim.Muon([wrong])
    matrix = leaf([[1.0]])
    for options, text in (
        ({"adjust_lr_fn": "none"}, "adjust_lr_fn"),
        ({"ns_steps": 100}, "less than 100"),
        ({"ns_coefficients": (1.0, 2.0)}, "three numbers"),
        ({"momentum": -1}, "momentum"),
    ):
        with pytest.raises(ValueError, match=text):
            optim.Muon([matrix], **options)
