"""Sorting integers of all widths and ranges, stably, in both directions."""

import numpy as np
import pytest

import flambeau

LIMITS = np.iinfo(np.int64)
#: Least and greatest: ranges of 0 to 8 bytes, at both ends of int64 and around 0.
RANGES = [(5, 5), (0, 1), (-3, 6), (-3, 200), (0, 255), (7, 4102), (7, 4103),
          (0, 256), (-70_000, 70_000), (-2**31, 2**31 - 1), (-2**31, 2**31),
          (LIMITS.min, LIMITS.min + 300), (LIMITS.max - 2**20, LIMITS.max),
          (0, 2**40), (LIMITS.min, LIMITS.max)]


def expect_order(numbers, descending):
    x = flambeau.tensor(numbers)
    values, positions = flambeau.sort(x, -1, descending, stable=True)
    # NumPy sorts the other way round only with keys turned round, which keep equal ones in order.
    keys = np.invert(numbers) if descending else numbers
    wanted = np.argsort(keys, -1, kind="stable")
    np.testing.assert_array_equal(positions.numpy(), wanted)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(numbers, wanted, -1))


@pytest.mark.parametrize("limits", RANGES, ids=str)
@pytest.mark.parametrize("count", [1, 2, 100, 161, 5000])
@pytest.mark.parametrize("descending", [False, True])
def test_numbers_of_a_range_are_sorted(limits, count, descending):
    rng = np.random.default_rng(count)
    numbers = rng.integers(*limits, (3, count), np.int64, endpoint=True)
    numbers[:, :2] = limits[:count]
    expect_order(numbers, descending)


@pytest.mark.parametrize("count", [99, 100, 101, 4097, 4098])
@pytest.mark.parametrize("descending", [False, True])
def test_lines_as_long_as_their_range(count, descending):
    rng = np.random.default_rng(0)
    numbers = rng.permuted(np.tile(np.arange(count), (3, 1)), axis=1) - 50
    numbers[1, :5] = numbers[1, 5:10]
    expect_order(numbers, descending)
    line = flambeau.tensor(numbers[1])
    wanted = flambeau.sort(line, descending=descending)
    flambeau.sort(line, descending=descending, out=(line, flambeau.empty(0, dtype=flambeau.int64)))
    assert line.equal(wanted.values)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64"])
@pytest.mark.parametrize("descending", [False, True])
def test_other_widths_are_sorted(dtype, descending):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    expect_order(rng.integers(limits.min, limits.max, (2, 999), dtype, endpoint=True), descending)
    expect_order(rng.integers(0, 3, (2, 999), dtype), descending)


@pytest.mark.parametrize("descending", [False, True])
def test_bools_are_sorted(descending):
    expect_order(np.random.default_rng(0).random(1000) > 0.5, descending)
