"""Log-probabilities of float32 are rounded as if logarithms were taken in double precision."""

from __future__ import annotations

import math

import pytest

import flambeau as fb


@pytest.mark.parametrize("width", (1, 7, 16, 17, 64, 100))
def test_sums_of_ones(width):
    """n equal scores have the probability 1 / n, along rows as along columns."""
    for n in (*range(1, 70), 1000, 4097):
        wanted = -fb.tensor(math.log(n), dtype=fb.float64).float()
        for x in (fb.zeros(n, width), fb.full((n, width), 3.5)):
            for got in (x.log_softmax(0), x.t().contiguous().log_softmax(1)):
                assert fb.equal(got, wanted.expand(got.shape))


@pytest.mark.parametrize("classes", (2, 3, 10, 150))
def test_against_double_precision(classes):
    fb.manual_seed(classes)
    x = fb.randn(3, classes, 33) * 5
    wanted = x.double().log_softmax(1)
    for got in (x.log_softmax(1), x.movedim(1, 2).contiguous().log_softmax(2).movedim(2, 1)):
        assert fb.allclose(got.double(), wanted, rtol=3e-7, atol=2e-6)
    columns, rows = x.log_softmax(1), x.movedim(1, 2).contiguous().log_softmax(2).movedim(2, 1)
    assert fb.allclose(columns, rows, rtol=3e-7, atol=1e-6)


@pytest.mark.parametrize("dtype", (fb.float32, fb.float64))
def test_numbers_that_are_none(dtype):
    x = fb.zeros(4, 20, dtype=dtype)
    x[1, 3], x[2, 5], x[3, 7], x[:, 9] = math.nan, math.inf, -math.inf, -math.inf
    for got in (x.log_softmax(0), x.t().contiguous().log_softmax(1).t()):
        assert got[:, (3, 5, 9)].isnan()[:, 0].all() and got[:, 9].isnan().all()
        assert got[2, 5].isnan() and got[3, 7] == -math.inf
        assert got[0, 7].item() == pytest.approx(-math.log(3), rel=1e-6)
        assert got[:, 0].isfinite().all()
