"""Decompositions of small matrices that take no call of LAPACK, beside NumPy's in float64."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl

ORDERS = (0, 1, 2, 3, 4, 5, 7, 8, 9)
SMALL = 8
DTYPES = (("float32", 2e-5), ("float64", 1e-13))


def _positive(n, dtype, count=6):
    a = np.random.default_rng(n).standard_normal((count, n, n))
    return (a @ a.swapaxes(1, 2) + np.eye(n)).astype(dtype)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(n, dtype, tolerance, upper):
    a = _positive(n, dtype)
    wanted = np.linalg.cholesky(a.astype("float64"))
    one_side = np.triu(a) if upper else np.tril(a)
    for x in (fl.from_numpy(a), fl.from_numpy(one_side), fl.from_numpy(a[::-1].copy()).flip(0),
              fl.from_numpy(np.stack([one_side] * 2, -1))[..., 0]):
        found = fl.linalg.cholesky(x, upper=upper)
        assert np.allclose(found.numpy(), wanted.swapaxes(1, 2) if upper else wanted,
                           rtol=tolerance, atol=tolerance)
        assert fl.equal(found, found.triu() if upper else found.tril())


@pytest.mark.parametrize("n", [*ORDERS[1:], 40])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_cholesky_says_which_minor_is_not_positive(n, value):
    a = _positive(n, "float64")
    a[3, n // 2, n // 2] = value
    for upper in (False, True):
        info = fl.linalg.cholesky_ex(fl.from_numpy(a), upper=upper).info
        assert info.tolist() == [0, 0, 0, n // 2 + 1, 0, 0]
    with pytest.raises(fl.linalg.LinAlgError, match=f"leading minor of order {n // 2 + 1}"):
        fl.linalg.cholesky(fl.from_numpy(a))


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
def test_inverses_and_square_systems(n, dtype, tolerance):
    a = np.random.default_rng(n).standard_normal((5, n, n))
    a = (a + 2 * np.eye(n)[::-1]).astype(dtype)         # with rows to exchange
    x = fl.from_numpy(a)
    wanted = np.linalg.inv(a.astype("float64"))
    scale = float(abs(wanted).max()) if n else 1.0
    assert np.allclose(fl.linalg.inv(x).numpy(), wanted, atol=tolerance * scale * 50)
    b = fl.from_numpy(np.random.default_rng(1).standard_normal((5, n, n)).astype(dtype))
    together = fl.linalg.solve(x, b)
    for column in range(n if n <= SMALL else 0):
        assert fl.equal(together[..., column], fl.linalg.solve(x, b[..., column]))


def test_nan_and_infinity_go_through():
    a = fl.eye(3, dtype=fl.float64).repeat(3, 1, 1)
    a[1, 2, 0] = float("nan")
    found = fl.linalg.inv(a)
    assert fl.equal(found[0], a[0])
    assert fl.equal(found[2], a[2])
    assert found[1].isnan().any()
    assert fl.linalg.cholesky(fl.tensor([[float("inf")]])).item() == float("inf")
