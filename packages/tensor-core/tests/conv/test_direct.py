"""Convolutions of many taps and few pixels have kernels of their own; bits are those of others."""

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

# channels in and out, image, window, stride, padding, dilation, groups
SIZES = [
    (128, 16, (7, 7), 3, 1, 1, 1, 1),
    (120, 33, (5, 9), 3, 2, 1, 1, 1),
    (256, 48, (6, 6), 3, 1, 0, 2, 1),
    (65, 17, (3, 4), (4, 5), 1, 3, 1, 1),
    (230, 64, (8, 8), 3, (1, 2), 2, (2, 1), 2),
    (1100, 20, (9, 9), 1, 1, 0, 1, 1),
    (1040, 18, (7, 7), 1, 2, 0, 1, 1),
    (400, 90, (1, 1), 3, 1, 1, 1, 1),
    (60, 16, (2, 2), 5, 1, 5, 1, 1),
    (150, 96, (13, 14), 3, 2, 1, 1, 1),
    (34, 48, (25, 19), 5, (2, 3), (1, 2), 1, 1),
    (9, 32, (40, 90), 4, 4, 0, 1, 1),
]


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(request.param)
    yield request.param
    flambeau.set_num_threads(before)


def operands(sizes, seed, images=1):
    c, o, image, window, *settings = sizes
    window = (window, window) if isinstance(window, int) else window
    flambeau.manual_seed(seed)
    x = flambeau.randn(images, c, *image)
    return x, flambeau.randn(o, c // settings[3], *window), flambeau.randn(o), settings


def same(one, other):
    assert one.shape == other.shape
    np.testing.assert_array_equal(one.numpy().view("i4"), other.numpy().view("i4"))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("special", [1.0, float("nan"), float("inf"), -0.0])
def test_one_image_has_the_bits_of_many(threads, sizes, special):
    x, w, b, settings = operands(sizes, 0)
    x[0, 5, 0, 0] = special
    w[3, 7, 0, 0] = special
    alone = ops.conv2d(x, w, b, *settings)
    images = 200 // (alone.shape[2] * alone.shape[3]) + 1       # too many pixels for that kernel
    together = ops.conv2d(x.expand(images + 1, -1, -1, -1).contiguous(), w, b, *settings)
    for image in together:
        same(alone[0], image)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_sums_are_right(sizes):
    x, w, b, settings = operands(sizes, 1, images=2)
    exact = ops.conv2d(x.double(), w.double(), b.double(), *settings).numpy()
    most = ops.conv2d(x.double().abs(), w.double().abs(), b.double().abs(), *settings).numpy()
    found = ops.conv2d(x, w, b, *settings).numpy()
    assert (np.abs(found - exact) <= most * 2.0**-19).all()


def test_weights_in_another_order(threads):
    x, w, b, settings = operands(SIZES[0], 2)
    expected = ops.conv2d(x, w, b, *settings)
    same(ops.conv2d(x, w.contiguous(memory_format=flambeau.channels_last), b, *settings), expected)
    same(ops.conv2d(x.transpose(2, 3).contiguous().transpose(2, 3), w, b, *settings), expected)
    same(ops.conv2d(x, w, None, *settings), ops.conv2d(x, w, b * 0, *settings))
