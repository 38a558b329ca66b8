"""RMS normalization as one operator: beside the CPU's, and beside its parts."""
from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import bits, check, random, views

import flambeau as fl
from flambeau.core import _core

DTYPES = {"float32": 2e-5, "float64": 1e-11, "float16": 4e-3, "bfloat16": 4e-2}


def check_both(simulated, x, axes, weight, tolerance=2e-5):
    """The operator and its gradients, whose arguments are the CPU's results."""
    check(simulated, "native_rms_norm", [x, axes, weight, 1e-5], tolerance)
    _, rstd = _core.call("native_rms_norm", [x, axes, weight, 1e-5])
    grad = random(*x.shape, seed=3, dtype=x.dtype.name)
    check(simulated, "rms_norm_grad", [grad, x, rstd, weight, axes, 1e-5], tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_beside_the_cpu(simulated, dtype):
    for shape, axes in (((5, 7), 1), ((2, 3, 6), 2), ((9,), 1), ((3, 600), 1), ((2, 3, 1), 1)):
        weight = random(*shape[len(shape) - axes:], seed=2, dtype=dtype)
        for w in (weight, None, weight.float() if dtype != "float64" else weight):
            check_both(simulated, random(*shape, dtype=dtype), axes, w, DTYPES[dtype])


def test_views_and_rows_of_any_length(simulated):
    for shape in ((4, 31), (2, 3001), (3, 2, 5)):
        for x in views(*shape):
            check_both(simulated, x, 1, random(shape[-1] * 2, seed=2)[::2], 1e-4)


def test_few_long_rows_and_many_short_ones(simulated):
    for shape in ((1, 40_001), (3, 16_384), (3000, 40), (40_000, 3)):
        check_both(simulated, random(*shape), 1, random(shape[1], seed=2), 2e-3)
    for kernel in ("rms_norm", "rms_norm_grad"):
        assert simulated.launches(kernel, "float32", f"{kernel}_joined_float32")
    assert simulated.launches("rms_norm_grad", "float32", "rms_norm_weights_joined_float32")


def test_nan_stays_in_its_row(simulated):
    x = random(4, 33)
    x[1, 7], x[2, 3] = float("nan"), float("inf")
    check_both(simulated, x, 1, None)


def test_bits_do_not_depend_on_where_rows_lie(simulated):
    x, weight = random(5, 2500).to("cudasim"), random(2500, seed=1).to("cudasim")
    shifted = fl.empty(x.numel() + 1, device="cudasim")[1:].view(5, 2500).copy_(x)
    found = []
    for each in (x, shifted, x.t().contiguous().t()):
        y, rstd = _core.call("native_rms_norm", [each, 1, weight, 1e-5])
        slopes = _core.call("rms_norm_grad", [each, each, rstd, weight, 1, 1e-5])
        found.append([bits(t.cpu()) for t in (y, rstd, *slopes)])
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_function_is_one_operator(simulated, dtype):
    functional = pytest.importorskip("flambeau.nn.functional", reason="needs flambeau-nn")
    results = []
    for device in ("cpu", "cudasim"):
        x = random(6, 40, dtype=dtype).to(device).requires_grad_()
        weight = random(40, seed=1, dtype=dtype).to(device).requires_grad_()
        before = simulated.launches("rms_norm", dtype, f"rms_norm_warp_{dtype}")
        y = functional.rms_norm(x, (40,), weight)
        launched = simulated.launches("rms_norm", dtype, f"rms_norm_warp_{dtype}") - before
        assert launched == (device != "cpu")
        (y * y).sum().backward()
        results.append([t.double().cpu().numpy() for t in (y.detach(), x.grad, weight.grad)])
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, DTYPES[dtype] * 20, DTYPES[dtype] * 20)
