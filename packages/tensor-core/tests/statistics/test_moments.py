"""Variance where the numbers are large and close together."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

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


@pytest.mark.parametrize("n", [4000, 100_000, 1_000_000])
def test_layer_norms_of_long_rows_far_from_zero(n):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((2, n)) + 100).astype("float32")
    wide = x.astype("float64")
    deviations = wide - wide.mean(1, keepdims=True)
    expected = deviations / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    given = ops.native_layer_norm(flambeau.from_numpy(x), 1, None, None, 1e-5)[0]
    assert abs(given.numpy() - expected).max() < 4e-6


def test_gradients_of_layer_norms_of_long_rows():
    n = 1_000_000
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, n)).astype("float32")
    g = (rng.standard_normal((1, n)) + 100).astype("float32")
    hat = (x.astype("float64") - x.mean(dtype="float64")) / x.std(dtype="float64")
    expected = g - g.mean(dtype="float64") - hat * (g * hat).mean()
    _, mean, rstd = ops.native_layer_norm(flambeau.from_numpy(x), 1, None, None, 0.0)
    given = ops.layer_norm_grad(flambeau.from_numpy(g), flambeau.from_numpy(x), mean, rstd, None, 1)
    assert abs(given[0].numpy() - expected / x.std(dtype="float64")).max() < 2e-5
