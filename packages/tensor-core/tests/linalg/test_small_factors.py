"""QR decompositions and triangular systems of small matrices, which are computed without LAPACK."""

from __future__ import annotations

import math

import numpy
import pytest

import flambeau as fb

SIZES = (1, 2, 3, 4, 5, 8, 9)
TOLERANCES = {fb.float32: 2e-5, fb.float64: 1e-13}


def _close(a, b, dtype, scale=1.0):
    tolerance = TOLERANCES[dtype] * scale
    assert fb.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("rows", SIZES)
def test_qr(dtype, rows):
    fb.manual_seed(rows)
    for columns in SIZES:
        a = fb.randn(6, rows, columns, dtype=dtype)
        a[1] = 0
        a[2, :, 0] = 0
        a[3, 1:, 0] = 0
        a[4] = fb.eye(rows, columns)
        for x in (a, a.mT.contiguous().mT, a[::2]):
            for mode in ("reduced", "complete"):
                q, r = fb.linalg.qr(x, mode)
                _close(q @ r, x, dtype)
                _close(q.mT @ q, fb.eye(q.shape[-1]).expand(len(x), -1, -1), dtype)
                assert fb.equal(r, r.triu())
                _close(r[0], fb.tensor(numpy.linalg.qr(x[0].double().numpy(), mode)[1]), dtype, 50)
            assert fb.equal(fb.linalg.qr(x, "r")[1], fb.linalg.qr(x)[1])


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_qr_of_extremes(dtype):
    largest = fb.finfo(dtype).max / 16
    for scale in (largest, fb.finfo(dtype).tiny * 16):
        x = fb.tensor([[3.0, 1.0], [4.0, 2.0]], dtype=dtype) * scale
        q, r = fb.linalg.qr(x)
        assert fb.allclose(r[0, 0].abs() / scale, fb.tensor(5.0, dtype=dtype))
        _close(q.mT @ q, fb.eye(2), dtype)
    for odd in (math.nan, math.inf):
        x = fb.tensor([[1.0, 2.0], [odd, 3.0]], dtype=dtype)
        assert fb.linalg.qr(x)[1].isnan().any()
    assert fb.linalg.qr(fb.zeros(0, 3, 3, dtype=dtype))[0].shape == (0, 3, 3)


@pytest.mark.parametrize("dtype", (*TOLERANCES, fb.complex64))
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("upper", (False, True))
def test_triangles(dtype, n, upper):
    fb.manual_seed(n)
    a = fb.randn(5, n, n, dtype=dtype) * 0.3 + 3 * fb.eye(n)
    for columns in SIZES:
        for unit in (False, True):
            for left in (False, True):
                b = fb.randn(*((5, n, columns) if left else (5, columns, n)), dtype=dtype)
                for x in (a, a.mT.contiguous().mT, a[:1], a[0]):
                    whole = x.triu() if upper else x.tril()
                    if unit:
                        whole = whole - fb.diag_embed(whole.diagonal(dim1=-2, dim2=-1)) + fb.eye(n)
                    got = fb.linalg.solve_triangular(x, b, upper=upper, left=left,
                                                     unitriangular=unit)
                    product = whole @ got if left else got @ whole
                    assert fb.allclose(product, b, rtol=1e-4, atol=1e-4)
    zero = fb.zeros(n, n, dtype=dtype)
    got = fb.linalg.solve_triangular(zero, fb.ones(n, 1, dtype=dtype), upper=upper)
    assert not got.isfinite().all()
