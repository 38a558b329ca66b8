"""Reductions and sorts of expanded tensors, and sums of rows of complex numbers."""

from __future__ import annotations

import math

import pytest

import flambeau as fb

DTYPES = (fb.float32, fb.float64, fb.bfloat16, fb.int64, fb.int8, fb.bool, fb.complex64,
          fb.complex128)
REDUCTIONS = ("sum", "prod", "amax", "amin", "any", "mean")
LAYOUTS = {
    "rows": lambda x: x[:, :1].expand(-1, 40),
    "columns": lambda x: x[:1].expand(30, -1),
    "one": lambda x: x[:1, :1].expand(30, 40),
    "outer": lambda x: x.expand(7, *x.shape),
    "middle": lambda x: x[:, None].expand(-1, 5, -1),
    "inner": lambda x: x[..., None].expand(*x.shape, 6),
    "two": lambda x: x[:, None, :, None].expand(-1, 4, -1, 3),
    "transposed": lambda x: x.t()[None].expand(9, -1, -1),
    "stepped": lambda x: x[::2, None, ::3].expand(-1, 11, -1),
}


def _base(dtype):
    fb.manual_seed(2)
    x = (fb.randn(30, 40) * 3).to(dtype)
    if dtype.is_floating_point:
        x[3, 5], x[4, 6], x[5, 7] = math.nan, math.inf, -0.0
    return x


def _fits(name, dtype):
    if dtype.is_complex:
        return name in ("sum", "prod", "mean")
    return name != "mean" or dtype.is_floating_point


def _dims(ndim):
    every = [(d,) for d in range(ndim)] + [(0, ndim - 1), tuple(range(ndim))]
    return dict.fromkeys(every)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype, layout):
    exact = not (dtype.is_floating_point or dtype.is_complex)
    tolerance = 0 if exact else 0.02 if dtype == fb.bfloat16 else 1e-4
    x = LAYOUTS[layout](_base(dtype))
    copy = x.clone(memory_format=fb.contiguous_format)
    assert 0 in x.stride()
    for name in filter(lambda name: _fits(name, dtype), REDUCTIONS):
        for dims in _dims(x.ndim):
            if name == "prod":
                if len(dims) > 1:
                    continue
                dims = dims[0]
            got, wanted = (getattr(t, name)(dims) for t in (x, copy))
            fb.testing.assert_close(got, wanted, equal_nan=True, rtol=tolerance, atol=tolerance)
            kept = x.sum(dims, keepdim=True)
            fb.testing.assert_close(kept.squeeze(dims), x.sum(dims), equal_nan=True)


def test_sums_are_multiples_rounded_once():
    x = fb.tensor([0.1, -0.3, math.inf, -0.0])[:, None].expand(-1, 1000)
    wanted = (x[:, 0].double() * 1000).float()
    assert x.sum(1).tolist() == wanted.tolist()
    assert math.copysign(1, x.sum(1)[3].item()) == 1
    assert fb.tensor([2**62]).expand(300).sum().item() == 0
    assert x[:0].sum(1).shape == (0,) and x[:, :0].sum(1).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("descending", (False, True))
@pytest.mark.parametrize("dtype", (*DTYPES[:6], fb.uint64))
def test_sorts(dtype, descending):
    base = _base(fb.float32).nan_to_num(9).abs().to(dtype) if dtype == fb.uint64 else _base(dtype)
    for x in (base[:1].expand(30, -1), base[:, :1].expand(-1, 40), base[:1, :1].expand(3, 4)):
        for dim in range(2):
            values, indices = x.sort(dim, descending=descending)
            copy = x.clone(memory_format=fb.contiguous_format).sort(dim, descending=descending)
            assert fb.equal(indices, copy.indices)
            fb.testing.assert_close(values, copy.values, equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", (fb.complex64, fb.complex128))
@pytest.mark.parametrize("n", (1, 7, 15, 16, 17, 31, 33, 64, 100, 128, 500, 4096, 5000))
def test_rows_of_complex_numbers(dtype, n):
    fb.manual_seed(n)
    x = fb.randn(5, n + 3, dtype=dtype)[:, 2:2 + n]
    wide = x.to(fb.complex128)
    wanted = fb.stack([sum((row[i] for i in range(n)), fb.zeros((), dtype=wide.dtype))
                       for row in wide])
    tolerance = 1e-5 * math.sqrt(n) if dtype == fb.complex64 else 1e-12 * math.sqrt(n)
    fb.testing.assert_close(x.sum(1).to(wide.dtype), wanted, rtol=tolerance, atol=tolerance)
    x[1, n // 2] = complex(math.nan, 1)
    x[2, 0] = complex(2, math.inf)
    sums = x.sum(1)
    assert math.isnan(sums[1].real) and math.isfinite(sums[1].imag)
    assert math.isfinite(sums[2].real) and math.isinf(sums[2].imag)
