"""Panels of rows that share packed strips of B give bit for bit what they give alone."""

import numpy as np
import pytest

import flambeau

#: Several panels of 378 or 182 rows with AVX-512, of 192 or 96 elsewhere; the last of them low,
#: where wide tiles end between two strips; whole, partial and single strips; sums of one slab and
#: of more.
SHAPES = [(379, 33, 257), (385, 57, 300), (760, 95, 40), (1100, 1025, 33), (1513, 64, 513),
          (763, 130, 256)]


@pytest.fixture(params=[1, 2])
def threads(request):
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(request.param)
    yield request.param
    flambeau.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["rows", "columns", "apart"])
@pytest.mark.parametrize("shape", SHAPES)
def test_panels_agree_with_parts(shape, layout, dtype, threads):
    m, n, k = shape
    generator = np.random.default_rng(m + n + k)
    a = generator.standard_normal((m, k)).astype(dtype)
    b = generator.standard_normal((k, n)).astype(dtype)
    given = flambeau.tensor(a)
    if layout == "columns":
        right = flambeau.tensor(b.T.copy()).t()
    elif layout == "apart":                                 # rows that are worth packing
        right = flambeau.zeros(k, n + 300, dtype=getattr(flambeau, dtype))[:, 5 : n + 5]
        right.copy_(flambeau.tensor(b))
    else:
        right = flambeau.tensor(b)
    got = (given @ right).numpy()
    limit = 1e-3 if dtype == "float32" else 1e-11
    assert np.abs(got - a.astype("float64") @ b.astype("float64")).max() < limit
    ends = [*range(0, m - 90, 90), m]                       # below the height of a panel
    parts = [(given[i:j] @ right).numpy() for i, j in zip(ends, ends[1:], strict=False)]
    np.testing.assert_array_equal(np.concatenate(parts), got)


def test_kept_strips_with_what_follows(threads):
    generator = np.random.default_rng(3)
    x = generator.standard_normal((800, 300)).astype(np.float32)
    w = generator.standard_normal((97, 300)).astype(np.float32)
    bias = generator.standard_normal(97).astype(np.float32)
    given, right, added = map(flambeau.tensor, (x, w, bias))
    got = flambeau.addmm(added, given, right.t()).numpy()
    np.testing.assert_allclose(got, x.astype("float64") @ w.T + bias, atol=1e-3)
