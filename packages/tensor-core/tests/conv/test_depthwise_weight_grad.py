"""Gradients of weights of single channels: every window, every remainder, whatever lies around."""

import itertools

import numpy as np
import pytest

import flambeau
from flambeau.core import ops


def expected(grad, x, shape, stride, padding, dilation):
    """The sum over pixels for each tap, in double precision."""
    outputs = shape[0] // x.shape[1]
    wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *((p, p) for p in padding)))
    wide = wide.repeat(outputs, 1)
    height, width = grad.shape[2:]
    result = np.zeros(shape)
    for i, j in itertools.product(range(shape[2]), range(shape[3])):
        top, left = i * dilation[0], j * dilation[1]
        part = wide[:, :, top:top + (height - 1) * stride[0] + 1:stride[0],
                    left:left + (width - 1) * stride[1] + 1:stride[1]]
        result[:, 0, i, j] = (part * grad).sum((0, 2, 3))
    return result


def given(grad, x, shape, stride, padding, dilation):
    return ops.conv2d_weight_grad(flambeau.from_numpy(grad), flambeau.from_numpy(x), shape, stride,
                                  padding, dilation, x.shape[1]).numpy()


def drawn(dtype, images, channels, outputs, window, plane, stride, padding, dilation):
    rng = np.random.default_rng(0)
    size = [(n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(plane, window, stride, padding, dilation, strict=True)]
    x = rng.standard_normal((images, channels, *plane)).astype(dtype)
    grad = rng.standard_normal((images, channels * outputs, *size)).astype(dtype)
    return grad, x, (channels * outputs, 1, *window)


PLANES = ((7, 7), (9, 16), (14, 14), (23, 31), (8, 40), (17, 67), (1, 70), (130, 33))
WINDOWS = ((3, 3), (5, 5), (1, 3), (4, 1), (7, 7), (1, 1), (2, 13))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("window", WINDOWS)
def test_against_sums_over_pixels(window, dtype):
    ways = [((1, 1), (1, 1)), ((2, 2), (1, 1)), ((1, 3), (1, 1)), ((1, 1), (2, 2))]
    for plane, (stride, dilation) in itertools.product(PLANES, ways):
        padding = tuple(d * (k // 2) for d, k in zip(dilation, window, strict=True))
        if any(n + 2 * p <= d * (k - 1) for n, p, d, k in zip(plane, padding, dilation, window,
                                                              strict=True)):
            continue
        for outputs in (1, 2):
            grad, x, shape = drawn(dtype, 3, 2, outputs, window, plane, stride, padding, dilation)
            right = expected(grad, x, shape, stride, padding, dilation)
            got = given(grad, x, shape, stride, padding, dilation)
            np.testing.assert_allclose(got, right, atol=1e-3 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_bits_with_any_number_of_threads(threads):
    grad, x, shape = drawn("float32", 9, 3, 1, (3, 3), (28, 28), (1, 1), (1, 1), (1, 1))
    one = given(grad, x, shape, (1, 1), (1, 1), (1, 1))
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(threads)
    try:
        other = given(grad, x, shape, (1, 1), (1, 1), (1, 1))
    finally:
        flambeau.set_num_threads(before)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_lies_around_stays_out(bad):
    """A channel of NaN, before and behind in memory, reaches its own weights alone."""
    ways = ((1, 1), (1, 1), (1, 1))
    for plane in ((5, 7), (12, 19), (6, 33)):
        grad, x, shape = drawn("float32", 2, 3, 1, (3, 3), plane, *ways)
        x[:, 1] = bad
        right = expected(np.delete(grad, 1, 1), np.delete(x, 1, 1), (2, *shape[1:]), *ways)
        got = given(grad, x, shape, *ways)
        assert not np.isfinite(got[1]).any()
        np.testing.assert_allclose(np.delete(got, 1, 0), right, atol=1e-4)


def test_a_column_of_nan_reaches_the_taps_that_meet_it():
    ways = ((1, 1), (0, 0), (1, 1))
    grad, x, shape = drawn("float32", 1, 1, 1, (1, 3), (4, 20), *ways)
    x[..., 19] = np.nan
    got = given(grad, x, shape, *ways)
    assert np.isfinite(got[..., :2]).all() and np.isnan(got[..., 2]).all()
