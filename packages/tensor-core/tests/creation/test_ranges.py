"""``arange`` is start + step * i in float64, or modulo the integers of its dtype, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flambeau

LENGTHS = st.one_of(st.integers(0, 70), st.sampled_from([1000, 20011, 70001]))


@given(LENGTHS, st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.booleans(), st.integers(1, 4))
def test_real_ranges(n, start, step, goes_down, threads):
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(threads)
    step = -step if goes_down else step
    end = start + step * n
    for dtype, kind in ((flambeau.float64, "f8"), (flambeau.float32, "f4"),
                        (flambeau.float16, "f2")):
        found = flambeau.arange(start, end, step, dtype=dtype).numpy()
        assert abs(len(found) - n) <= 1
        with np.errstate(over="ignore"):
            wide = (start + step * np.arange(len(found), dtype="f8"))
            expected = (wide.astype("f4") if kind == "f2" else wide).astype(kind)
        np.testing.assert_array_equal(found, expected)
    flambeau.set_num_threads(before)


@given(LENGTHS, st.integers(-2**62, 2**62), st.integers(1, 2**31), st.booleans())
def test_integer_ranges(n, start, step, goes_down):
    step = -step if goes_down else step
    found = flambeau.arange(start, start + step * n, step).numpy()
    np.testing.assert_array_equal(found, start + step * np.arange(n, dtype="i8"))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize(("start", "end", "step"), [
    (0, 100, 1), (-100, 101, 7), (120, -120, -11), (5, 6, 3), (3, 3, 1), (0, 100000, 3)])
def test_narrow_integers_wrap(dtype, start, end, step):
    expected = np.arange(start, end, step, dtype="i8").astype(dtype)
    kind = getattr(flambeau, dtype)
    np.testing.assert_array_equal(flambeau.arange(start, end, step, dtype=kind).numpy(), expected)
    wide = flambeau.zeros(2 * len(expected), dtype=kind)
    flambeau.arange(start, end, step, out=wide[::2])
    np.testing.assert_array_equal(wide.numpy()[::2], expected)
    assert not wide.numpy()[1::2].any()
