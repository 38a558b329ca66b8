"""Reductions along columns of dtypes that are not computed in, beside those of converted copies."""
from __future__ import annotations

import itertools

import pytest

import flambeau as fl

SHAPES = ((7, 40), (8, 1030), (513, 17), (1500, 300), (40, 9, 70), (3, 600, 33), (100, 16),
          (2, 5, 6, 50), (1, 70), (0, 40), (600, 0))
VIEWS = (lambda x: x, lambda x: x.transpose(0, -1), lambda x: x[..., ::2], lambda x: x[::2],
         lambda x: x[..., 1:])
WIDE = {fl.bfloat16: fl.float32, fl.float16: fl.float32, fl.int32: fl.int64, fl.int16: fl.int64,
        fl.uint8: fl.int64, fl.int8: fl.int64, fl.bool: fl.bool}


def _same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and (
        fl.equal(a, b) or fl.equal(a.nan_to_num(7.0), b.nan_to_num(7.0)))


def _tensor(shape, dtype):
    fl.manual_seed(len(shape))
    x = (fl.randn(shape) * 9).abs() if dtype == fl.uint8 else fl.randn(shape) * 9
    return x.to(dtype)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_bits_of_a_converted_copy(shape, dtype):
    x = _tensor(shape, dtype)
    if dtype.is_floating_point and x.numel() > 200:
        x.view(-1)[[3, 150]] = fl.tensor([float("nan"), float("inf")]).to(dtype)
    for view, name in itertools.product(VIEWS, ("sum", "prod", "amax", "amin")):
        y = view(x)
        for dim in range(y.ndim):
            if y.shape[dim] == 0 and name in ("amax", "amin"):
                continue
            found = getattr(y, name)(dim)
            wanted = getattr(y.to(WIDE[dtype]), name)(dim)
            assert _same(found, wanted.to(found.dtype)), (name, dim)


@pytest.mark.parametrize("shape", [(1500, 300), (40, 9, 70)])
def test_sums_of_halves_beside_float64(shape):
    x = _tensor(shape, fl.bfloat16)
    for dim in (0, (0, len(shape) - 1)):
        wanted = x.double().sum(dim)
        slack = x.double().abs().sum(dim) * 2.0 ** -20
        assert ((x.sum(dim).double() - wanted).abs() <= wanted.abs() * 2.0 ** -8 + slack).all()
