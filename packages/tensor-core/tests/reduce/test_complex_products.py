"""Products of complex numbers of every length, beside NumPy."""

import numpy as np
import pytest

import flambeau


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_every_length(dtype):
    rng = np.random.default_rng(0)
    tolerance = 1e-4 if dtype == "complex64" else 1e-12
    for n in (*range(20), 63, 64, 65, 200):
        given = np.exp(1j * rng.uniform(-3, 3, (3, n))).astype(dtype)
        x = flambeau.from_numpy(given)
        np.testing.assert_allclose(x.prod(1).numpy(), given.prod(1), rtol=tolerance)
        np.testing.assert_allclose(x.t().prod(0).numpy(), given.prod(1), rtol=tolerance)
        np.testing.assert_allclose(x.prod().numpy(), given.prod(), rtol=tolerance)


def test_what_is_no_number_stays_so():
    x = flambeau.ones(20, dtype=flambeau.complex64)
    x[13] = complex("nan")
    assert x.prod().isnan().item()
    x[13] = 0
    assert x.prod().item() == 0
