"""Operators of half precision beside rows and columns, whose rows end in any number of elements."""

from __future__ import annotations

import math

import pytest

import flambeau as fb

OPERATORS = (fb.add, fb.sub, fb.mul, fb.div, fb.maximum, fb.minimum)
WIDTHS = (1, 7, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 79, 80, 81, 101, 127, 128, 145)


def _operands(dtype, n):
    fb.manual_seed(n)
    x, row, column = fb.randn(9, n).to(dtype), fb.randn(n).to(dtype), fb.randn(9, 1).to(dtype)
    x[0, 0], x[-1, -1], row[n // 2], column[3] = math.nan, -0.0, math.inf, math.nan
    return x, (row, column, x[0], 1.5)


def _wide(t):
    return t.float() if isinstance(t, fb.Tensor) else t


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("dtype", (fb.bfloat16, fb.float16))
def test_rows_and_columns(dtype, n):
    x, others = _operands(dtype, n)
    for operator in OPERATORS:
        for other in others:
            if not isinstance(other, fb.Tensor) and operator in (fb.maximum, fb.minimum):
                continue
            wanted = operator(x.float(), _wide(other)).to(dtype)
            assert fb.allclose(operator(x, other), wanted, rtol=0, atol=0, equal_nan=True)
            if isinstance(other, fb.Tensor):
                wanted = operator(other.float(), x.float()).to(dtype)
                assert fb.allclose(operator(other, x), wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("dtype", (fb.bfloat16, fb.float16))
def test_in_place(dtype, n):
    x, others = _operands(dtype, n)
    for other in others:
        for name in ("add_", "mul_", "sub_", "div_"):
            wanted = getattr(x.float(), name)(_wide(other)).to(dtype)
            got = getattr(x.clone(), name)(other.clone() if isinstance(other, fb.Tensor) else other)
            assert fb.allclose(got, wanted, rtol=0, atol=0, equal_nan=True)
    flat = x.reshape(-1)
    assert fb.allclose(flat.clone().add_(flat), (flat.float() * 2).to(dtype), rtol=0, atol=0,
                       equal_nan=True)
    own = x.clone()
    assert fb.allclose(own.mul_(own), (x.float() * x.float()).to(dtype), rtol=0, atol=0,
                       equal_nan=True)
