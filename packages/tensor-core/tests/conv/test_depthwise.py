"""Convolutions of single channels: every window that has a loop of its own, every remainder."""

from __future__ import annotations

import numpy
import pytest

import flambeau


def _expected(x, w, stride, padding):
    """Shifted copies times single weights, added in double precision."""
    pads = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    wide = numpy.pad(x.astype("float64"), pads)
    ky, kx = w.shape[-2:]
    total = 0
    for i in range(ky):
        for j in range(kx):
            part = wide[:, :, i:wide.shape[2] - ky + 1 + i, j:wide.shape[3] - kx + 1 + j]
            total = total + part * w[None, :, 0, i, j, None, None]
    return total[:, :, ::stride, ::stride]


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("stride", (1, 2))
@pytest.mark.parametrize("size", ((3, 3), (5, 5), (7, 7), (3, 7), (4, 3), (1, 3)))
def test_against_sums_of_shifted_copies(size, stride, dtype):
    rng = numpy.random.default_rng(0)
    w = rng.standard_normal((3, 1, *size)).astype(dtype)
    for height, width in ((9, 16), (14, 14), (23, 31), (8, 40), (17, 67)):
        x = rng.standard_normal((2, 3, height, width)).astype(dtype)
        given = flambeau.conv2d(flambeau.tensor(x), flambeau.tensor(w), stride=stride, padding=2,
                                groups=3)
        numpy.testing.assert_allclose(given.numpy(), _expected(x, w, stride, 2),
                                      atol=1e-4 if dtype == "float32" else 1e-12)
