"""Reductions and flips of tensors whose dimensions lie in another order than they are named."""

from __future__ import annotations

import itertools
import math

import pytest

import flambeau as fb

SHAPES = ((3, 4, 5), (16, 1, 7), (40, 30, 20), (2, 17, 2, 3), (0, 3, 2))
DTYPES = (fb.float32, fb.float64, fb.bfloat16, fb.int32, fb.bool, fb.complex64)
REDUCTIONS = {
    "sum": lambda x, d: x.sum(d), "amax": lambda x, d: x.amax(d), "any": lambda x, d: x.any(d),
    "mean": lambda x, d: x.mean(d), "logsumexp": lambda x, d: x.logsumexp(d),
    "norm": lambda x, d: fb.linalg.vector_norm(x, dim=d),
    "argmax": lambda x, d: x.argmax(d), "min": lambda x, d: x.min(d).indices,
}
OF_FLOATS = ("mean", "logsumexp", "norm")
OF_ONE = ("argmax", "min")
OF_COMPLEX = ("sum", "mean", "norm")


def _orders(dtype, shape):
    """Every order of the dimensions, also with holes and reversed."""
    fb.manual_seed(1)
    base = (fb.randn(shape) * 4).to(dtype)
    if dtype.is_floating_point and base.numel():
        base[0, 0, 0] = math.nan
    for order in itertools.permutations(range(len(shape))):
        x = base.permute(order)
        yield x
        yield x[..., ::2]
        yield x.flip(0)


def _fits(name, dtype, dims):
    if dtype.is_complex:
        return name in OF_COMPLEX
    return (dtype.is_floating_point or name not in OF_FLOATS) and (len(dims) == 1 or
                                                                   name not in OF_ONE)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype, shape):
    exact = not (dtype.is_floating_point or dtype.is_complex)
    tolerance = 0 if exact else 0.02 if dtype == fb.bfloat16 else 1e-4
    for x in _orders(dtype, shape):
        copy = x.clone(memory_format=fb.contiguous_format)
        for dims in ((0,), (1,), (-1,), (0, 1), (0, -1)):
            for name, reduction in REDUCTIONS.items():
                empty = any(x.shape[d] == 0 for d in dims)
                if not _fits(name, dtype, dims) or (empty and name in ("amax", *OF_ONE)):
                    continue
                d = dims[0] if len(dims) == 1 else dims
                fb.testing.assert_close(reduction(x, d), reduction(copy, d), equal_nan=True,
                                        rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", (*DTYPES, fb.uint8, fb.int16))
def test_flips(dtype, shape):
    for x in _orders(dtype, shape):
        copy = x.clone(memory_format=fb.contiguous_format)
        for dims in ((0,), (-1,), (0, 1), (), (0, 1, 2)):
            got = x.flip(dims)
            fb.testing.assert_close(got, copy.flip(dims), equal_nan=True, rtol=0, atol=0)
