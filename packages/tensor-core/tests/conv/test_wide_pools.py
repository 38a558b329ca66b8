"""Maxima of wide windows are the first of equal elements, or the last NaN, as of narrow ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flambeau
from flambeau.core import ops


def expected(x, size, stride, padding, shape):
    """Values and positions, element by element in the order of memory."""
    values, at = np.empty(shape, x.dtype), np.empty(shape, "i8")
    for plane, oy, ox in np.ndindex(shape):
        best = None
        for y in range(oy * stride[0] - padding[0], oy * stride[0] - padding[0] + size[0]):
            for c in range(ox * stride[1] - padding[1], ox * stride[1] - padding[1] + size[1]):
                if 0 <= y < x.shape[1] and 0 <= c < x.shape[2]:
                    v = x[plane, y, c]
                    if best is None or v > best or v != v:
                        best, position = v, y * x.shape[2] + c
        values[plane, oy, ox], at[plane, oy, ox] = best, position
    return values, at


def check(x, size, stride, padding, ceil_mode=False, dtype=None):
    t = flambeau.tensor(x) if dtype is None else flambeau.tensor(x).to(dtype)
    settings = (size, stride, padding, 1, ceil_mode)
    found, at = ops.max_pool2d_with_indices(t, *settings)
    values, positions = expected(x, size, stride, padding, found.shape)
    wide = found.to(flambeau.float64) if dtype is not None else found
    np.testing.assert_array_equal(at.numpy(), positions)
    bits = values.astype(wide.numpy().dtype)
    np.testing.assert_array_equal(np.signbit(wide.numpy()), np.signbit(bits))
    np.testing.assert_array_equal(wide.numpy(), bits)
    alone = ops.max_pool2d_values(t, *settings)
    np.testing.assert_array_equal(alone.to(wide.dtype).numpy(), bits)


@given(st.fixed_dictionaries({
    "h": st.integers(8, 40), "w": st.integers(8, 60), "size": st.tuples(*[st.integers(4, 30)] * 2),
    "stride": st.tuples(*[st.integers(1, 30)] * 2), "padding": st.tuples(*[st.integers(0, 15)] * 2),
    "ceil": st.booleans(), "kind": st.sampled_from(["f4", "f8", "i8"]), "seed": st.integers(0, 99),
    "odd": st.booleans()}))
def test_any_wide_windows(g):
    rng = np.random.default_rng(g["seed"])
    size = min(g["size"][0], g["h"]), min(g["size"][1], g["w"])
    padding = min(g["padding"][0], size[0] // 2), min(g["padding"][1], size[1] // 2)
    x = rng.integers(-3, 4, (2, g["h"], g["w"])).astype(g["kind"])      # many are equal
    if g["odd"] and g["kind"] != "i8":
        x[rng.random(x.shape) < 0.02] = np.nan
        x[rng.random(x.shape) < 0.1] = -np.inf
        x[rng.random(x.shape) < 0.1] = -0.0
        x[0, : g["h"] // 2] = -np.inf
    check(x, size, g["stride"], padding, g["ceil"])


@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float16, flambeau.uint8,
                                   flambeau.int32])
def test_other_dtypes(dtype):
    x = np.random.default_rng(0).integers(0, 9, (3, 28, 30)).astype("f4")
    check(x, (14, 15), (14, 15), (0, 0), dtype=dtype)


def test_views_and_threads():
    rng = np.random.default_rng(1)
    base = flambeau.tensor(rng.standard_normal((56, 4, 60)).astype("f4"))
    view = base.permute(1, 0, 2)[:, :, 3:59]
    before = flambeau.get_num_threads()
    for threads in (1, 3):
        flambeau.set_num_threads(threads)
        found, at = ops.max_pool2d_with_indices(view, 14, 14)
        values, positions = expected(view.numpy(), (14, 14), (14, 14), (0, 0), found.shape)
        np.testing.assert_array_equal(found.numpy(), values)
        np.testing.assert_array_equal(at.numpy(), positions)
    flambeau.set_num_threads(before)


@given(st.tuples(st.integers(1, 40), st.integers(1, 70), st.integers(1, 20)), st.integers(0, 2),
       st.integers(1, 30), st.sampled_from(["f4", "f8", "i8"]), st.integers(0, 99))
def test_uneven_windows_of_many_lines(shape, dim, count, kind, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, shape).astype(kind)
    if kind != "i8":
        x[rng.random(x.shape) < 0.05] = np.nan
        x[rng.random(x.shape) < 0.2] = -0.0
    found, at = ops.adaptive_max(flambeau.tensor(x), dim, count)
    lines, n = np.moveaxis(x, dim, -1), shape[dim]
    values, positions = (np.moveaxis(t.numpy(), dim, -1) for t in (found, at))
    for i in range(count):
        begin, end = i * n // count, -(-(i + 1) * n // count)
        for where in np.ndindex(lines.shape[:-1]):
            best = begin
            for k in range(begin + 1, end):
                if lines[where][k] > lines[where][best] or lines[where][k] != lines[where][k]:
                    best = k
            assert positions[where][i] == best
            assert values[where][i].tobytes() == lines[where][best].tobytes()
