"""Counts of bytes, which are read as they are where there are many."""

import numpy as np
import pytest

import flambeau


def check(x, minlength=0):
    given = flambeau.bincount(flambeau.from_numpy(x), minlength=minlength)
    assert given.dtype is flambeau.int64
    np.testing.assert_array_equal(given.numpy(), np.bincount(x, minlength=minlength))


@pytest.mark.parametrize("n", [0, 1, 3, 8191, 8192, 8193, 8194, 8195, 8196, 100_003])
@pytest.mark.parametrize("most", [1, 2, 200, 256])
def test_lengths(n, most):
    check(np.random.default_rng(n).integers(0, most, n).astype("uint8"))


@pytest.mark.parametrize("minlength", [0, 1, 255, 256, 257, 1024, 1025, 5000])
def test_room_for_more(minlength):
    check(np.random.default_rng(0).integers(0, 256, 20_000).astype("uint8"), minlength)


def test_every_second_byte_and_weights():
    x = np.random.default_rng(0).integers(0, 256, 40_000).astype("uint8")
    check(x[::2])
    weights = np.random.default_rng(1).random(len(x))
    given = flambeau.bincount(flambeau.from_numpy(x), flambeau.from_numpy(weights))
    np.testing.assert_allclose(given.numpy(), np.bincount(x, weights))


def test_numbers_beyond_the_size_are_refused():
    """A recorded program keeps the size that it was recorded with."""
    from flambeau.core import _core

    x = flambeau.full((10_000,), 9, dtype=flambeau.uint8)
    x[5000] = 200
    with pytest.raises(RuntimeError, match="found 200 at position 5000"):
        _core.operators()["bincount_of"](x, None, 10)
