"""Few searches in a long sequence, which is read where it lies, beside NumPy."""

import numpy as np
import pytest

import flambeau

DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [1, 3, -1])
@pytest.mark.parametrize("right", [False, True])
def test_positions(dtype, step, right):
    rng = np.random.default_rng(0)
    given = np.sort((rng.standard_normal(9000) * 40).astype("int8").astype(dtype))
    wanted = given[::step] if step > 0 else given
    x = flambeau.from_numpy(given)[::step] if step > 0 else \
        flambeau.from_numpy(given[::-1].copy()).flip(0)
    for values in ([-50, 3], [0], [200]) if dtype != "int8" else ([-50, 3], [0]):
        asked = np.array(values).astype(dtype)
        found = flambeau.searchsorted(x, flambeau.from_numpy(asked), right=right)
        side = "right" if right else "left"
        assert found.tolist() == np.searchsorted(wanted, asked, side).tolist()


def test_a_sequence_and_numbers_of_two_dtypes():
    x = flambeau.arange(9000, dtype=flambeau.int32)
    assert flambeau.searchsorted(x, 7.5).item() == 8
    assert flambeau.searchsorted(x, flambeau.tensor([7.5, -1.0, 1e9])).tolist() == [8, 0, 9000]
    assert flambeau.bucketize(flambeau.tensor([7, 8]), x[::2]).tolist() == [4, 4]


def test_a_sequence_in_another_order():
    x = flambeau.arange(9000, dtype=flambeau.int16).flip(0)
    order = flambeau.arange(9000).flip(0)
    found = flambeau.searchsorted(x, flambeau.tensor([0, 77, 8999], dtype=flambeau.int16),
                                  sorter=order, right=True)
    assert found.tolist() == [1, 78, 9000]


def test_nan_is_at_the_end():
    x = flambeau.cat([flambeau.arange(4000.0), flambeau.full((2,), float("nan"))]).half()
    asked = flambeau.tensor([3.0, float("nan")]).half()
    assert flambeau.searchsorted(x, asked).tolist() == [3, 4002]
    assert flambeau.searchsorted(x, asked, right=True).tolist() == [4, 4002]


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32", "float64"])
@pytest.mark.parametrize("right", [False, True])
def test_searches_side_by_side(dtype, right):
    rng, side = np.random.default_rng(0), "right" if right else "left"
    for n in (0, 1, 2, 3, 7, 8, 100, 1023, 1024):
        given = np.sort(rng.integers(0, 60, n)).astype(dtype)
        for count in (0, 1, 7, 8, 9, 30, 1000):
            asked = rng.integers(0, 64, count).astype(dtype)
            found = flambeau.searchsorted(flambeau.from_numpy(given), flambeau.from_numpy(asked),
                                          right=right)
            assert found.tolist() == np.searchsorted(given, asked, side).tolist()
    rows = np.sort(rng.integers(0, 60, (30, 19)), -1).astype(dtype)
    asked = rng.integers(0, 64, (30, 21)).astype(dtype)
    found = flambeau.searchsorted(flambeau.from_numpy(rows), flambeau.from_numpy(asked),
                                  right=right)
    assert found.tolist() == [np.searchsorted(r, a, side).tolist()
                              for r, a in zip(rows, asked, strict=True)]


@pytest.mark.parametrize("right", [False, True])
def test_a_set_takes_the_steps_of_one(right):
    """What is out of order, and NaN, are found where single searches find them."""
    rng = np.random.default_rng(0)
    x = flambeau.tensor(rng.standard_normal(77))
    x[[3, 50]] = float("nan")
    asked = flambeau.tensor(rng.standard_normal(64))
    asked[[5, 6]] = float("nan")
    one_by_one = [flambeau.searchsorted(x, a[None], right=right).item() for a in asked]
    assert flambeau.searchsorted(x, asked, right=right).tolist() == one_by_one
