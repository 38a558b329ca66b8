"""Bytes are masks for `where` alone: other operators that choose take them as numbers."""

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

X = np.array([0, 1, 5, 9, 255], "u1")


def test_clamps_of_bytes_take_numbers():
    x = flambeau.tensor(X)
    np.testing.assert_array_equal(x.clamp(max=4).numpy(), X.clip(None, 4))
    np.testing.assert_array_equal(x.clamp(min=3).numpy(), X.clip(3, None))
    np.testing.assert_array_equal(x.clamp(2, 6).numpy(), X.clip(2, 6))


def test_where_takes_bytes_with_a_warning():
    with pytest.warns(UserWarning, match="uint8 condition"):
        found = ops.where(flambeau.tensor(X), flambeau.tensor(X), flambeau.tensor(7 + 0 * X))
    np.testing.assert_array_equal(found.numpy(), np.where(X != 0, X, 7))
