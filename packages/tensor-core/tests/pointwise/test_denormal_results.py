"""Denormal results are right, and made without operations that underflow.

Intel's processors take a hundred cycles for a product that is denormal, and for one that is barely
too small to be; they signal underflow then. Kernels make such results by other means.
"""

import ctypes
import sys

import numpy as np
import pytest

import flambeau
from flambeau.core import functional as F

UNDERFLOW = 0x10
FALLING = {
    "exp": (lambda x: flambeau.exp(x), np.exp),
    "exp2": (lambda x: flambeau.exp2(x * 1.5), lambda x: np.exp2(x * 1.5)),
    "sigmoid": (lambda x: flambeau.sigmoid(x), lambda x: np.exp(x) / (1 + np.exp(x))),
    "silu": (lambda x: F.silu(x), lambda x: x * np.exp(x) / (1 + np.exp(x))),
    "mish": (lambda x: F.mish(x), lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "softplus": (lambda x: F.softplus(x), lambda x: np.log1p(np.exp(x))),
    "logsigmoid": (lambda x: F.logsigmoid(-x), lambda x: -np.log1p(np.exp(x))),
    "rows": (lambda x: flambeau.softmax(_beside_zero(x), -1)[:, 1:].reshape(-1), np.exp),
    "columns": (lambda x: flambeau.softmax(_beside_zero(x).t().contiguous(), 0)[1:].t().reshape(-1),
                np.exp),
}
#: The last is far below anything that is not zero.
RANGES = {np.float32: (-86.0, -88.0, -95.0, -103.0, -110.0, -1e9),
          np.float64: (-707.0, -709.0, -730.0, -744.0, -752.0, -1e300)}


def _beside_zero(x):
    """Rows of 31 elements and a zero, so that a row's largest element is 0."""
    rows = x.reshape(-1, 31)
    return flambeau.cat([flambeau.zeros(rows.shape[0], 1, dtype=x.dtype), rows], 1)


def _numbers(dtype):
    ends = RANGES[dtype]
    parts = [np.linspace(a, b, 31 * 12) for a, b in zip(ends[:4], ends[1:5], strict=True)]
    return np.concatenate([*parts, np.full(31, ends[5])]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FALLING)
def test_denormal_results(name, dtype):
    compute, reference = FALLING[name]
    x = _numbers(dtype)
    with np.errstate(all="ignore"):
        want = reference(x.astype(np.longdouble)).astype(dtype)
    got = compute(flambeau.tensor(x)).numpy()
    scale = np.abs(x[:-31]) if name == "exp2" else 1        # the argument's rounding is multiplied
    unit = np.finfo(dtype).smallest_subnormal
    limit = np.maximum(1.01 * unit, 3 * scale * np.finfo(dtype).eps * np.abs(want[:-31]))
    assert (np.abs(got[:-31] - want[:-31]) <= limit).all()
    assert ((want != 0) & (np.abs(want) < np.finfo(dtype).tiny)).any()
    assert (got[-31:] == want[-31:]).all()


def test_ends_of_what_is_lowered():
    """What is made from bits must not make numbers of nan."""
    x = flambeau.tensor([-np.inf, np.nan, -0.0, 0.0, np.inf])
    for f, want in ((F.silu, [np.nan, np.nan, -0.0, 0.0, np.inf]),
                    (F.mish, [np.nan, np.nan, -0.0, 0.0, np.inf]),
                    (flambeau.sigmoid, [0.0, np.nan, 0.5, 0.5, 1.0]),
                    (flambeau.exp, [0.0, np.nan, 1.0, 1.0, np.inf]),
                    (F.softplus, [0.0, np.nan, np.log(2.0), np.log(2.0), np.inf])):
        got = f(x).numpy()
        np.testing.assert_array_equal(np.signbit(got[2:]), np.signbit(want[2:]))
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("power", [-126.5, -130, -140, -149])
@pytest.mark.parametrize("name", ["exp", "expm1", "log1p", "tanh", "sinh", "asinh", "erf"])
def test_denormal_arguments(name, power):
    x = np.float32(2.0**power) * np.array([1, -1, 0.7], np.float32)
    got = getattr(flambeau, name)(flambeau.tensor(x)).numpy()
    want = x.astype(np.float64) * (1.1283791670955126 if name == "erf" else 1) + (name == "exp")
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1.5e-45)


def _flags():
    if sys.platform != "linux" or "AVX" not in flambeau.backends.cpu.get_cpu_capability():
        pytest.skip("flags are read as on x86, products and sums rounded once")
    return ctypes.CDLL("libm.so.6")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["exp", "sigmoid", "silu", "mish", "rows", "columns"])
def test_denormal_results_without_underflow(name, dtype):
    flags, x = _flags(), _numbers(dtype)
    x = x[x > RANGES[dtype][3]].repeat(31)
    if dtype == np.float32:
        x = x[(x < -87.35) | (x > -87.3)]                   # near the border it may
    x = flambeau.tensor(x[: x.size // 31 * 31])
    FALLING[name][0](x)
    flags.feclearexcept(UNDERFLOW)
    FALLING[name][0](x)
    assert not flags.fetestexcept(UNDERFLOW)
