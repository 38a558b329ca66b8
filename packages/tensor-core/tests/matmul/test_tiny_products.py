"""Long batches of tiny products, which take a lane each, against the products one by one."""

from __future__ import annotations

import math

import pytest
from checks import bits

import flambeau as fb

SIZES = ((1, 1, 1), (1, 1, 3), (1, 1, 31), (2, 2, 2), (3, 3, 3), (4, 1, 4), (1, 5, 2), (7, 3, 2),
         (4, 4, 4), (5, 4, 4))          # the last has more elements than a tiny product


def _views(a, b):
    """The operands of a batch, as they may lie."""
    yield a, b
    yield a.mT.contiguous().mT, b.mT.contiguous().mT
    yield a[:1].expand(a.shape), b
    yield a, b[1:2].expand(b.shape)
    yield a.flip(0), b[:, ::2].repeat_interleave(2, 1)[:, :b.shape[1]]
    yield fb.stack((a, a), -1)[..., 0], fb.stack((b, b), 1)[:, 1]


@pytest.mark.parametrize("m, n, k", SIZES)
@pytest.mark.parametrize("dtype", (fb.float32, fb.float64))
def test_as_one_by_one(dtype, m, n, k):
    fb.manual_seed(3)
    for count in (32, 63, 65, 200):
        a, b = fb.randn(count, m, k, dtype=dtype), fb.randn(count, k, n, dtype=dtype)
        a[2], a[3], b[4], b[5, 0, 0] = math.nan, -0.0, math.inf, 0.0
        for x, y in _views(a, b):
            got = x @ y
            for i in (0, 2, 3, 4, 5, count // 2, count - 1):
                alone = x[i].clone() @ y[i].clone()
                close = (got[i] - alone).abs() <= 1e-5 * (1 + alone.abs())
                assert ((got[i] == alone) | close | (got[i].isnan() & alone.isnan())).all()


def test_the_bits_do_not_depend_on_the_batch():
    a, b = fb.randn(300, 3, 3), fb.randn(300, 3, 3)
    assert bits((a @ b)[17:20]) == bits(a[17:20] @ b[17:20])


def test_no_terms():
    assert (fb.ones(100, 2, 0) @ fb.ones(100, 0, 2) == 0).all()
    assert (fb.ones(100, 0, 2) @ fb.ones(100, 2, 2)).shape == (100, 0, 2)


def test_einsum_of_rows():
    a, b = fb.randn(500, 3), fb.randn(500, 3)
    assert fb.allclose(fb.einsum("ni,ni->n", a, b), (a * b).sum(-1), atol=1e-6)
