"""Maxima of two by two elements have code of their own: the values and positions of a search."""
import numpy as np
import pytest

import flambeau
from flambeau.core import _core

SHAPES = [(1, 1, 2, 2), (2, 1, 3, 3), (1, 2, 4, 34), (3, 2, 17, 70), (2, 3, 16, 16), (1, 1, 2, 257),
          (1, 2, 300, 300), (4, 1, 64, 2), (3, 5, 8, 8), (2, 40, 5, 9)]


def search(plane):
    """The last nan, else the first maximum, of each window: values and positions."""
    height, width = plane.shape
    values = np.empty((height // 2, width // 2), plane.dtype)
    at = np.empty(values.shape, np.int64)
    for y, x in np.ndindex(values.shape):
        best, where = -np.inf, 2 * y * width + 2 * x
        for tap in (0, 1, width, width + 1):
            value = plane.flat[2 * y * width + 2 * x + tap]
            if value > best or np.isnan(value):
                best, where = value, 2 * y * width + 2 * x + tap
        values[y, x], at[y, x] = best, where
    return values, at


def planes(shape, kind):
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape).astype(np.float32)
    if kind == "ties":
        x = np.round(x)
    if kind == "nan and infinity":
        x[rng.random(shape) < 0.3] = np.nan
        x[rng.random(shape) < 0.3] = -np.inf
    if kind == "lowest":
        x[:] = -np.inf
    return x


@pytest.mark.parametrize("kind", ["normal", "ties", "nan and infinity", "lowest"])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_positions(shape, kind):
    x = planes(shape, kind)
    found = [search(plane) for plane in x.reshape(-1, *shape[2:])]
    window = [[2, 2], [2, 2], [0, 0], [1, 1], False]
    for name in ("max_pool2d_with_indices", "max_pool2d_compact_indices"):
        values, at = _core.call(name, [flambeau.tensor(x), *window])
        for number, (wanted, where) in enumerate(found):
            y, p = (t.flatten(0, 1)[number].numpy() for t in (values, at))
            np.testing.assert_array_equal(y, wanted)
            np.testing.assert_array_equal(p.astype(np.int64), where)
    values = _core.call("max_pool2d_values", [flambeau.tensor(x), *window])
    np.testing.assert_array_equal(values.flatten(0, 1).numpy(), np.stack([w for w, _ in found]))
