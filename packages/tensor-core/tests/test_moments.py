"""Variance where the numbers are large and close together."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("shape, dim", [
    ((1000, 7), 0), ((7, 1000), 1), ((64, 300), 0), ((5, 400, 3), 1), ((3, 400, 40), (0, 1)),
])
@pytest.mark.parametrize("correction", [0, 1])
def test_variance_keeps_its_digits_around_a_large_mean(shape, dim, correction):
    data = (100 + 0.01 * RNG.standard_normal(shape)).astype(np.float32)
    got = flambeau.tensor(data).var(dim, correction=correction).numpy()
    want = data.astype(np.float64).var(axis=dim, ddof=correction)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=0)
