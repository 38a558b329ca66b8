"""Convolutions of bfloat16, which some processors do by pairs of channels, in every shape."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

# channels in and out, image, window, stride, padding, dilation, groups
SIZES = [
    (16, 32, (30, 40), 1, 1, 0, 1, 1),
    (17, 33, (30, 41), 1, 1, 0, 1, 1),
    (64, 80, (1, 300), (1, 1), 1, 0, 1, 1),
    (64, 34, (1, 301), (1, 3), 1, (0, 1), 1, 1),
    (19, 32, (1, 1500), (1, 5), (1, 2), (0, 4), (1, 3), 1),
    (32, 32, (14, 13), 5, 1, 1, 1, 1),
    (33, 40, (9, 11), 3, 2, 1, 1, 1),
    (3, 64, (40, 37), 7, 2, 3, 1, 1),
    (32, 48, (12, 12), 3, 3, (2, 3), 2, 2),
    (68, 256, (16, 16), (3, 2), 1, 1, 1, 4),
    (256, 300, (7, 7), (2, 3), 1, 1, 1, 1),
    (400, 64, (20, 20), 1, 2, 0, 1, 1),
    (16, 32, (4, 4), 4, 1, (5, 6), 1, 1),
    (64, 64, (14, 14), 3, 1, 1, 1, 1),
]


def operands(sizes, seed=0, images=2):
    c, o, image, window, *settings = sizes
    window = (window, window) if isinstance(window, int) else window
    flambeau.manual_seed(seed)
    made = (flambeau.randn(images, c, *image), flambeau.randn(o, c // settings[3], *window),
            flambeau.randn(o))
    return *(each.bfloat16() for each in made), settings


def exact(x, w, b, settings):
    """In float64, and the sum of the absolute values of its terms."""
    b = None if b is None else b.double()
    sums = ops.conv2d(x.double(), w.double(), b, *settings).numpy()
    sizes = ops.conv2d(x.double().abs(), w.double().abs(), None if b is None else b.abs(),
                       *settings).numpy()
    return sums, sizes


def close(given, sums, sizes, terms):
    """One rounding to bfloat16, after sums in float32."""
    assert given.dtype is flambeau.bfloat16
    found = given.double().numpy()
    assert found.shape == sums.shape
    bound = 2.0**-8 * np.abs(sums) + 2.0**-24 * terms * sizes + 1e-30
    assert (np.abs(found - sums) <= bound).all()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("images", [1, 3])
def test_sums_are_rounded_once(sizes, images):
    x, w, b, settings = operands(sizes, images=images)
    terms = w[0].numel()
    close(ops.conv2d(x, w, b, *settings), *exact(x, w, b, settings), terms)
    close(ops.conv2d(x, w, None, *settings), *exact(x, w, None, settings), terms)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_layouts_and_targets(sizes):
    x, w, b, settings = operands(sizes)
    wanted = ops.conv2d(x, w, b, *settings)
    memory = flambeau.zeros(x.numel() + 1, dtype=flambeau.bfloat16)
    odd = memory[1:].view(x.shape)
    odd.copy_(x)
    wide = flambeau.zeros(*w.shape[:-1], 2 * w.shape[-1], dtype=flambeau.bfloat16)[..., ::2]
    wide.copy_(w)
    turned = x.transpose(2, 3).contiguous().transpose(2, 3)
    last = x.contiguous(memory_format=flambeau.channels_last)
    for image, weight in itertools.product((x, odd, turned, last), (w, wide)):
        assert flambeau.equal(ops.conv2d(image, weight, b, *settings), wanted)
    assert flambeau.equal(ops.conv2d(x[0], w, b, *settings), wanted[0])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_bits_do_not_depend_on_threads(sizes):
    x, w, b, settings = operands(sizes)
    before = flambeau.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            flambeau.set_num_threads(threads)
            found.append(ops.conv2d(x, w, b, *settings))
    finally:
        flambeau.set_num_threads(before)
    assert all(flambeau.equal(each, found[0]) for each in found)


@pytest.mark.parametrize("sizes", SIZES[:8], ids=str)
@pytest.mark.parametrize("special", [float("nan"), float("inf")])
def test_special_numbers_reach_what_they_meet(sizes, special):
    x, w, b, settings = operands(sizes)
    x[1, 2, 0, 3] = special
    given = ops.conv2d(x, w, b, *settings).float()
    wanted = ops.conv2d(x.float(), w.float(), b.float(), *settings)
    assert flambeau.equal(given.isfinite(), wanted.isfinite())
    assert flambeau.equal(given.isnan(), wanted.isnan())


@pytest.mark.parametrize("length", range(1, 40))
def test_rows_of_every_length(length):
    x = flambeau.randn(3, 18, 1, length).bfloat16()
    w, b = flambeau.randn(1300, 18, 1, 3).bfloat16(), flambeau.randn(1300).bfloat16()
    settings = [1, (0, 1), 1, 1]
    close(ops.conv2d(x, w, b, *settings), *exact(x, w, b, settings), 54)
