"""Convolutions of integers are exact modulo their size, whether by floats or by integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flambeau
from flambeau.core import ops

DTYPES = ["uint8", "int8", "int16", "int32", "int64"]


def expected(x, w, b, stride, padding, groups):
    """By products of int64, which wrap."""
    dtype, (o, c) = x.dtype, w.shape[:2]
    x, w = x.astype("i8"), w.astype("i8")
    pad = ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, pad), w.shape[2:], (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    with np.errstate(over="ignore"):
        parts = [np.einsum("nchwyx,ocyx->nohw", windows[:, g * c:(g + 1) * c],
                           w[g * o // groups:(g + 1) * o // groups]) for g in range(groups)]
        found = np.concatenate(parts, 1)
        return (found if b is None else found + b.astype("i8")[:, None, None]).astype(dtype)


def check(x, w, b=None, stride=1, padding=0, groups=1):
    tensors = [None if a is None else flambeau.tensor(a) for a in (x, w, b)]
    found = ops.conv2d(*tensors, stride, padding, 1, groups)
    assert found.numpy().dtype == x.dtype
    np.testing.assert_array_equal(found.numpy(), expected(x, w, b, stride, padding, groups))


@given(st.fixed_dictionaries({
    "dtype": st.sampled_from(DTYPES), "bits": st.integers(1, 63), "n": st.integers(1, 3),
    "c": st.integers(1, 20), "o": st.integers(1, 20), "groups": st.sampled_from([1, 1, 2, 3]),
    "side": st.integers(3, 12), "window": st.integers(1, 3), "stride": st.integers(1, 3),
    "padding": st.integers(0, 2), "bias": st.booleans(), "threads": st.integers(1, 3),
    "seed": st.integers(0, 99)}))
def test_any_sizes_and_numbers(g):
    rng, info, groups = np.random.default_rng(g["seed"]), np.iinfo(g["dtype"]), g["groups"]

    def numbers(*shape):
        most = min(2**g["bits"], info.max)
        return rng.integers(max(-most, info.min), most, shape, endpoint=True).astype(g["dtype"])

    before = flambeau.get_num_threads()
    flambeau.set_num_threads(g["threads"])
    check(numbers(g["n"], g["c"] * groups, g["side"], g["side"]),
          numbers(g["o"] * groups, g["c"], g["window"], g["window"]),
          numbers(g["o"] * groups) if g["bias"] else None, g["stride"], g["padding"], groups)
    flambeau.set_num_threads(before)


@pytest.mark.parametrize("taps", [257, 258, 259, 1040])
def test_the_largest_bytes(taps):
    """258 products of 255 and 255 are the last that float32 has exactly."""
    x, w = np.full((1, taps, 5, 5), 255, "u1"), np.full((3, taps, 1, 1), 255, "u1")
    x[0, 0, 2, 2] = w[1, 0] = 254
    check(x, w, np.array([255, 0, 1], "u1"))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("power", [11, 12, 13, 24, 25, 26, 27, 30])
def test_sums_at_the_ends_of_floats(dtype, power):
    x, w = np.full((1, 2, 4, 4), 2**power - 1, dtype), np.full((2, 2, 2, 2), 2**power - 1, dtype)
    x[0, 0, 1, 1], w[0, 0, 0, 0], w[1, 1, 1, 1] = 2**power, -2**power, 1
    check(x, w, np.array([1, -1], dtype), padding=1)
    check(-x, w, padding=1)


def test_the_least_numbers_and_views():
    for dtype in DTYPES[1:]:
        least = np.iinfo(dtype).min
        check(np.full((1, 1, 3, 3), least, dtype), np.full((1, 1, 2, 2), least, dtype))
        check(np.full((1, 1, 3, 3), least, dtype), np.ones((1, 1, 1, 1), dtype))
    x = np.arange(2 * 3 * 8 * 8).reshape(2, 3, 8, 8)
    t, w = flambeau.tensor(x).permute(0, 1, 3, 2)[:, :, ::2], flambeau.ones(4, 3, 2, 2).long()
    found = ops.conv2d(t, w).numpy()
    np.testing.assert_array_equal(found, expected(t.numpy(), w.numpy(), None, 1, 0, 1))
