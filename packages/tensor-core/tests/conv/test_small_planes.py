"""Averages over many planes of few elements, beside the same planes in parts and NumPy's means."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import flambeau as fl
from flambeau.core import ops

SIZES = ((1, 1), (1, 2), (1, 16), (2, 2), (3, 3), (4, 4), (3, 5), (2, 8))
WINDOWS = ((1, 2), (2, 2), (3, 1), (2, 3), (1, 4), (4, 4), (3, 4))
DTYPES = ("float32", "float64", "bfloat16", "int64", "uint8")


def _mean(plane, row, column, window, stride, padding, include, divisor):
    """One output as its definition says, and what it is divided by."""
    bounds = [(o * stride - padding, min(o * stride - padding + k, n + padding))
              for o, k, n in zip((row, column), window, plane.shape, strict=True)]
    inside = plane[tuple(slice(max(a, 0), max(b, 0)) for a, b in bounds)]
    area = np.prod([b - a for a, b in bounds]) if include else inside.size
    return inside.sum() / (divisor or area)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_many_planes_give_the_bits_of_few(dtype, size):
    numbers = np.random.default_rng(0).standard_normal((300, 1, *size)) * 9
    x = fl.from_numpy(numbers.clip(0) if dtype == "uint8" else numbers).to(getattr(fl, dtype))
    met = 0
    for window, stride, padding, ceil, include, divisor in itertools.product(
            WINDOWS, (1, 2, 3, 4), (0, 1), (False, True), (False, True), (None, 3)):
        if any(k < 2 * padding or n + 2 * padding < k for k, n in zip(window, size, strict=True)):
            continue
        args = (window, stride, padding, ceil, include, divisor)
        found = ops.avg_pool2d(x, *args)
        parts = [ops.avg_pool2d(part, *args) for part in x.split(30)]
        assert fl.equal(found, fl.cat(parts))
        if dtype == "float64":
            for i, row, column in itertools.product((0, 299), *map(range, found.shape[2:])):
                wanted = _mean(numbers[i, 0], row, column, *args[:3], include, divisor)
                assert np.isclose(found[i, 0, row, column].item(), wanted, rtol=1e-13)
        met += 1
    assert met


@pytest.mark.parametrize("width", [4, 5, 6, 7, 8, 9, 15, 16])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_wide_windows_are_summed_in_the_same_order(dtype, width):
    x = (fl.randn(300, 1, 1, 16) * 9).to(getattr(fl, dtype))
    for y in (x, x.view(300, 1, 2, 8) if width <= 8 else x):
        args = ((y.shape[2], width), (1, width), 0, False, True, None)
        parts = [ops.avg_pool2d(part, *args) for part in y.split(30)]
        assert fl.equal(ops.avg_pool2d(y, *args), fl.cat(parts))


def test_nan_stays_in_its_plane():
    x = fl.ones(200, 1, 2, 2)
    x[131, 0, 1, 1] = float("nan")
    found = ops.avg_pool2d(x, 2, 2, 0, False, True, None).flatten()
    assert found.isnan().nonzero().flatten().tolist() == [131]
    assert (found.nan_to_num(1.0) == 1).all()
