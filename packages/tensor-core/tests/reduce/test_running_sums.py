"""Running sums of few columns are those of each column by itself, in float64."""

import numpy as np
import pytest

import flambeau


@pytest.mark.parametrize("width", range(2, 7))
@pytest.mark.parametrize("kind", ["f4", "f8", "i4", "i8", "c8", "c16"])
def test_cumsum(width, kind):
    rng = np.random.default_rng(width)
    for shape in [(0, width), (1, width), (37, width), (2, 100, width)]:
        x = (rng.standard_normal(shape) * 100).astype(kind)
        if kind.startswith("c"):
            x += (1j * rng.standard_normal(shape)).astype(kind)
        wide = {"f": "f8", "i": "i8", "c": "c16"}[kind[0]]
        expected = np.cumsum(x.astype(wide), -2)
        expected = expected if kind[0] == "i" else expected.astype(kind)
        found = flambeau.tensor(x).cumsum(-2)
        np.testing.assert_array_equal(found.numpy(), expected)
        y = flambeau.tensor(x)
        if kind[0] != "i":
            np.testing.assert_array_equal(y.cumsum_(-2).numpy(), expected)
        turned = flambeau.tensor(np.ascontiguousarray(np.swapaxes(x, -1, -2))).transpose(-1, -2)
        np.testing.assert_array_equal(turned.cumsum(-2).numpy(), found.numpy())


def test_complex_lines_and_numbers_that_are_not_finite():
    x = np.array([[1, np.inf, -np.inf, 2], [np.nan, 1, 0, -0.0]])
    found = flambeau.tensor(x.T.copy()).cumsum(0).numpy().T
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, np.cumsum(x, 1))
        z = flambeau.tensor(x + 1j).cumsum(1).numpy()
        np.testing.assert_array_equal(z, np.cumsum(x + 1j, 1))
