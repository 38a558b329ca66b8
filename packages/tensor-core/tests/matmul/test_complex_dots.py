"""Inner products and powers of complex vectors, beside NumPy's."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl

DTYPES = (("complex64", 1e-5), ("complex128", 1e-14))


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64, 1000])
def test_dots(dtype, tolerance, n):
    draw = np.random.default_rng(n).standard_normal((2, n, 2, 2))
    a, b = (draw[..., 0] + 1j * draw[..., 1]).astype(dtype)
    atol = tolerance * (n + 1)
    for step in (slice(None), slice(None, None, -1)):
        for i, j in ((0, 0), (0, 1), (1, 1)):
            x, y = fl.from_numpy(a)[:, i], fl.from_numpy(b)[:, j]
            p, q = a[:, i], b[step][:, j]
            if step.step:
                y = y.flip(0)
            for v, w in ((x, y), (x.clone(), y.clone()), (x, y.clone())):
                assert np.allclose(fl.dot(v, w).item(), np.sum(p * q), atol=atol)
                assert np.allclose(fl.vdot(v, w).item(), np.sum(p.conj() * q), atol=atol)
                assert np.allclose((v[None] @ w[:, None]).item(), np.sum(p * q), atol=atol)
                assert np.allclose((v @ w.conj()).item(), np.sum(p * q.conj()), atol=atol)
    rows = fl.from_numpy(np.ascontiguousarray(a.T))[:, None] @ fl.from_numpy(a.T.copy())[..., None]
    assert np.allclose(rows.numpy()[:, 0, 0], np.sum(a * a, 0), atol=atol)


def test_a_dot_with_nan_and_infinity():
    x = fl.tensor([1 + 2j, complex(float("nan"), 0)])
    assert fl.dot(x, x).isnan().item()
    x = fl.tensor([complex(float("inf"), 0), 1.0])
    assert not fl.dot(x, fl.tensor([1.0 + 0j, 0])).isfinite().item()


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("power", [2, 3])
def test_powers_that_are_products(dtype, tolerance, power):
    n = np.random.default_rng(power).standard_normal((700, 2))
    a = (n[:, 0] + 1j * n[:, 1]).astype(dtype)
    x = fl.from_numpy(a)
    wanted = np.prod([a.astype("complex128")] * power, 0)
    for exponent in (power, float(power), complex(power)):
        assert np.allclose((x ** exponent).numpy(), wanted, rtol=tolerance, atol=tolerance)
    assert fl.equal(x[::2] ** power, (x ** power)[::2])
    assert (fl.tensor(complex(float("nan"), 1), dtype=x.dtype) ** power).isnan().item()
