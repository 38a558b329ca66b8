"""Sums of bools, which are counts."""

import numpy as np
import pytest

import flambeau

SHAPES = [(), (1,), (100,), (70_000,), (3, 70_000), (5, 7, 9), (2, 0), (200_000, 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("layout", ["as it is", "steps", "backwards"])
def test_bools_are_counted(shape, layout):
    numbers = np.random.default_rng(0).random(shape) > 0.5
    x = flambeau.tensor(numbers)
    if layout == "steps" and shape:
        x, numbers = x[..., ::2], numbers[..., ::2]
    if layout == "backwards" and shape:
        x, numbers = x.permute(tuple(range(x.ndim))[::-1]), numbers.T
    assert x.sum().item() == numbers.sum() and x.sum().dtype is flambeau.int64
    pairs = [(0, 2), (1, 2)] if x.ndim > 2 else []
    for dim in (*range(x.ndim), *pairs):
        np.testing.assert_array_equal(x.sum(dim).numpy(), numbers.sum(dim))
        np.testing.assert_array_equal(flambeau.count_nonzero(x, dim).numpy(),
                                      np.count_nonzero(numbers, dim))


def test_counts_are_written_where_told():
    x = flambeau.ones(30, 40, dtype=flambeau.bool)
    out = flambeau.zeros(30, 2, dtype=flambeau.int64)[:, 1]
    flambeau.sum(x, 1, out=out)
    assert out.tolist() == [40] * 30
    assert flambeau.sum(x, 1, dtype=flambeau.int32).tolist() == [40] * 30
