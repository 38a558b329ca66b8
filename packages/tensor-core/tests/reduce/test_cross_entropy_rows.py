"""Cross entropy as one operator: beside its parts in float64, and as its decomposition."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl
from flambeau.core import _core
from flambeau.core.decompositions import decomposition

REDUCTIONS = ("none", "mean", "sum")
SHAPES = ((5, 4), (2, 3, 4, 2), (6,), (1, 1), (4, 300))


def samples(shape, ignored, seed=0):
    rng = np.random.default_rng(seed)
    classes = shape[min(len(shape) - 1, 1)]
    rest = [n for d, n in enumerate(shape) if d != min(len(shape) - 1, 1)]
    target = rng.integers(0, classes, rest)
    if ignored < 0 and rest:
        target = np.where(rng.random(rest) < 0.3, ignored, target)
    return (fl.from_numpy(rng.standard_normal(shape) * 4), fl.from_numpy(np.asarray(target)),
            fl.from_numpy(rng.random(classes) + 0.1))


def slope_of_parts(x, grad, target, weight, code, ignored, smoothing):
    """The derivative by central differences of the composite, in float64."""
    slope, flat = fl.zeros(x.shape, dtype=fl.float64), x.clone()
    for at in np.ndindex(*x.shape):
        ends = []
        for step in (1e-5, -1e-5):
            flat.copy_(x)
            flat[at] += step
            loss = _core.call("cross_entropy", [flat, target, weight, None, ignored, None,
                                                REDUCTIONS[code], smoothing])
            ends.append((loss * grad).sum().item())
        slope[at] = (ends[0] - ends[1]) / 2e-5
    return slope


@pytest.mark.parametrize("smoothing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("code", [0, 1, 2])
def test_beside_its_parts(code, smoothing):
    for shape in SHAPES:
        for ignored in (-100, 0):
            x, target, weight = samples(shape, ignored)
            for w in (weight, None):
                want = _core.call("cross_entropy", [x, target, w, None, ignored, None,
                                                    REDUCTIONS[code], smoothing])
                args = [x, target, w, code, ignored, smoothing]
                for dtype, tolerance in ((fl.float64, 1e-12), (fl.float32, 1e-5)):
                    cast = [a.to(dtype) if a is x or a is weight else a for a in args]
                    found = _core.call("cross_entropy_rows", cast)
                    np.testing.assert_allclose(found[0].numpy(), want.numpy(), tolerance, tolerance)
                    made = decomposition("cross_entropy_rows")(*cast)
                    for a, b in zip(found, made, strict=True):
                        np.testing.assert_allclose(b.numpy(), a.numpy(), tolerance, tolerance)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("code", [0, 1, 2])
def test_its_gradient(code, smoothing):
    for shape in SHAPES[:3]:
        x, target, weight = samples(shape, -100)
        x = x.transpose(0, -1).contiguous().transpose(0, -1)
        for w in (weight, None):
            result, *rest = _core.call("cross_entropy_rows", [x, target, w, code, -100, smoothing])
            grad = fl.from_numpy(np.asarray(np.random.default_rng(2).random(result.shape)))
            args = [x, grad, target, w, code, -100, smoothing, *rest]
            found = _core.call("cross_entropy_grad", args)
            want = slope_of_parts(x, grad, target, w, code, -100, smoothing)
            np.testing.assert_allclose(found.numpy(), want.numpy(), 1e-6, 1e-8)
            np.testing.assert_allclose(decomposition("cross_entropy_grad")(*args).numpy(),
                                       found.numpy(), 1e-10, 1e-12)


def test_no_number_becomes_one():
    """NaN and infinities, as log_softmax and nll_loss have them."""
    inf = float("inf")
    x = fl.tensor([[-inf, 1, 2], [-inf, -inf, -inf], [inf, 0, 1], [float("nan"), 1, 2],
                   [0, 1, -inf]])
    target = fl.tensor([0, 1, 1, 2, -100])
    want = _core.call("cross_entropy", [x, target, None, None, -100, None, "none", 0.0])
    found = _core.call("cross_entropy_rows", [x, target, None, 0, -100, 0.0])
    np.testing.assert_array_equal(np.isnan(found[0].numpy()), np.isnan(want.numpy()))
    assert found[0][0].item() == inf and found[0][4].item() == 0


def test_refusals():
    x, target = fl.zeros(3, 4), fl.tensor([0, 4, 1])
    with pytest.raises(IndexError, match="Target 4 .* is out of bounds: there are 4 classes"):
        _core.call("cross_entropy_rows", [x, target])
    with pytest.raises(ValueError, match=r"must have shape \[3\]"):
        _core.call("cross_entropy_rows", [x, fl.tensor([1, 2])])
    with pytest.raises(RuntimeError, match="expected weight to have dtype float32"):
        _core.call("cross_entropy_rows", [x, fl.tensor([1, 2, 3]), fl.ones(4).double()])
