"""RMS normalization as one operator: beside its parts in float64, and as its decomposition."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl
from flambeau.core import _core
from flambeau.core.decompositions import decomposition

SHAPES = [((5, 6), 1), ((2, 3, 4), 2), ((7,), 1), ((3, 1), 1), ((2, 300), 1)]


def random(*shape, seed=0):
    return fl.from_numpy(np.asarray(np.random.default_rng(seed).standard_normal(shape)))


def parts(x, axes, weight, eps):
    return _core.call("rms_norm", [x, tuple(x.shape[x.ndim - axes:]), weight, eps])


@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_beside_its_parts(shape, axes):
    for x in (random(*shape), random(*shape[::-1]).permute(*range(len(shape) - 1, -1, -1))):
        for weight in (random(*x.shape[x.ndim - axes:], seed=1), None):
            want = parts(x, axes, weight, 1e-2)
            for dtype, tolerance in ((fl.float64, 1e-12), (fl.float32, 1e-5), (fl.float16, 4e-3)):
                args = [x.to(dtype), axes, weight if weight is None else weight.to(dtype), 1e-2]
                found = _core.call("native_rms_norm", args)
                assert found[0].dtype == dtype
                np.testing.assert_allclose(found[0].numpy(), want.numpy(), tolerance, tolerance)
                made = decomposition("native_rms_norm")(*args)
                for a, b in zip(found, made, strict=True):
                    np.testing.assert_allclose(b.numpy(), a.numpy(), tolerance, tolerance)


@pytest.mark.parametrize(("shape", "axes"), SHAPES[:3])
def test_its_gradients(shape, axes):
    """Central differences of the composite."""
    x, grad, step = random(*shape), random(*shape, seed=2), 1e-5
    weight = random(*shape[len(shape) - axes:], seed=1)
    rstd = _core.call("native_rms_norm", [x, axes, weight, 1e-2])[1]
    args = [grad, x, rstd, weight, axes, 1e-2]
    found = _core.call("rms_norm_grad", args)
    for k, moved in enumerate((x, weight)):
        want = np.zeros(moved.shape)
        for at in np.ndindex(*moved.shape):
            ends = []
            for by in (step, -step):
                other = moved.clone()
                other[at] += by
                y = parts(*((other, axes, weight) if k == 0 else (x, axes, other)), 1e-2)
                ends.append((y * grad).sum().item())
            want[at] = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(found[k].numpy(), want, 1e-6, 1e-8)
    for a, b in zip(found, decomposition("rms_norm_grad")(*args), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), 1e-10, 1e-12)


def test_refusals():
    with pytest.raises(RuntimeError, match="axes is 3 for an input of shape"):
        _core.call("native_rms_norm", [fl.zeros(3, 4), 3])
    with pytest.raises(RuntimeError, match=r"weight.*\[3\]"):
        _core.call("native_rms_norm", [fl.zeros(3, 4), 1, fl.ones(3)])
