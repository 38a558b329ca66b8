"""Products of half precision taken a block of rows at a time, beside fewer rows at once."""
from __future__ import annotations

import pytest

import flambeau as fl
from flambeau.core import ops

ROWS = 1100


def _operands(dtype, k, n):
    fl.manual_seed(k * 100 + n)
    return (fl.randn(ROWS, k).to(dtype), fl.randn(n, k).to(dtype), fl.randn(n).to(dtype))


@pytest.mark.parametrize("dtype", [fl.bfloat16, fl.float16])
@pytest.mark.parametrize(("k", "n"), [(7, 300), (16, 250), (64, 300), (250, 64), (200, 1),
                                     (1, 200)])
def test_blocks_of_rows_give_the_same_bits(dtype, k, n):
    x, w, bias = _operands(dtype, k, n)
    wide = fl.cat([x, x], 1)[:, k:]                     # rows that lie apart
    for rows in (x, wide, x.t().contiguous().t(), x.view(11, 100, k)):
        parts = [rows.reshape(ROWS, k)[i:i + 256] for i in range(0, ROWS, 256)]
        for product in (lambda a: a @ w.t(), lambda a: ops.linear(a, w, bias),
                        lambda a: ops.linear(a, w)):
            found = product(rows)
            assert found.dtype == dtype
            wanted = fl.cat([product(part.contiguous()) for part in parts])
            assert fl.equal(found.reshape(ROWS, n), wanted)


@pytest.mark.parametrize("dtype", [fl.bfloat16, fl.float16])
def test_blocks_of_rows_beside_float64(dtype):
    x, w, bias = _operands(dtype, 64, 300)
    x[5, 3] = float("nan")
    x[900, 0] = float("inf")
    found = ops.linear(x, w, bias).double()
    wanted = x.double() @ w.t().double() + bias.double()
    finite = wanted.isfinite()
    assert fl.equal(found.isfinite(), finite)
    assert fl.equal(found.isnan(), wanted.isnan())
    step = 2.0 ** -8 if dtype == fl.bfloat16 else 2.0 ** -11
    error = (found - wanted).abs()[finite]
    assert (error <= 1.01 * step * wanted.abs()[finite] + 1e-4).all()


def test_a_result_elsewhere():
    x, w, _ = _operands(fl.bfloat16, 64, 300)
    for out in (fl.zeros(ROWS, 300, dtype=fl.bfloat16), fl.zeros(300, ROWS, dtype=fl.bfloat16).t()):
        assert fl.equal(fl.matmul(x, w.t(), out=out), x @ w.t())
