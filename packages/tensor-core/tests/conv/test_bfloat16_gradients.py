"""Gradients of convolutions of bfloat16, which some processors do by pairs, in every shape."""

from __future__ import annotations

import pytest
from test_bfloat16_convolutions import SIZES, close, operands

import flambeau
from flambeau.core import ops

MORE = [
    (16, 32, (17, 19), 3, 2, 1, 1, 1),
    (32, 64, (16, 16), 3, 2, 1, 1, 1),
    (64, 32, (15, 10), 3, 3, 0, 1, 1),
    (32, 40, (13, 22), (5, 2), (2, 1), (2, 1), (1, 3), 1),
    (40, 48, (20, 9), 2, (1, 2), 0, (3, 1), 2),
    (64, 64, (12, 12), 1, 2, 0, 1, 1),
    (64, 128, (9, 9), 1, 3, 1, 1, 1),
    (24, 40, (60, 70), 3, 1, 1, 1, 1),
    (8, 16, (4, 4), 3, 1, 1, 1, 1),
]


def made(sizes, images=2, seed=0):
    x, w, _, settings = operands(sizes, seed, images)
    shape = ops.conv2d(x.float(), w.float(), None, *settings).shape
    return flambeau.randn(shape).bfloat16(), x, w, settings


def both(grad, x, w, settings):
    """The gradients for the input and the weight."""
    return (ops.conv2d_input_grad(grad, w, x.shape, *settings),
            ops.conv2d_weight_grad(grad, x, w.shape, *settings))


@pytest.mark.parametrize("sizes", SIZES + MORE, ids=str)
@pytest.mark.parametrize("images", [1, 5])
def test_sums_are_rounded_once(sizes, images):
    grad, x, w, settings = made(sizes, images)
    found = both(grad, x, w, settings)
    sums = both(grad.double(), x.double(), w.double(), settings)
    magnitudes = both(grad.double().abs(), x.double().abs(), w.double().abs(), settings)
    terms = w.numel() // w.shape[1], grad.numel() // grad.shape[1]
    for each, total, size, count in zip(found, sums, magnitudes, terms, strict=True):
        close(each, total.numpy(), size.numpy(), count)


@pytest.mark.parametrize("sizes", SIZES[:6] + MORE, ids=str)
def test_layouts(sizes):
    grad, x, w, settings = made(sizes)
    wanted = both(grad, x, w, settings)
    last = flambeau.channels_last
    wide = flambeau.zeros(*w.shape[:-1], 2 * w.shape[-1], dtype=flambeau.bfloat16)[..., ::2]
    wide.copy_(w)
    odd = flambeau.zeros(grad.numel() + 1, dtype=flambeau.bfloat16)[1:].view(grad.shape)
    odd.copy_(grad)
    for given in ((odd, x, w), (grad, x.contiguous(memory_format=last), w), (grad, x, wide),
                  (grad.transpose(2, 3).contiguous().transpose(2, 3), x, w)):
        for found, each in zip(both(*given, settings), wanted, strict=True):
            assert flambeau.equal(found, each)


@pytest.mark.parametrize("sizes", SIZES[:4] + MORE, ids=str)
def test_bits_do_not_depend_on_threads(sizes):
    operands = made(sizes)
    before = flambeau.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            flambeau.set_num_threads(threads)
            found.append(both(*operands))
    finally:
        flambeau.set_num_threads(before)
    for each in found[1:]:
        assert all(flambeau.equal(a, b) for a, b in zip(each, found[0], strict=True))


@pytest.mark.parametrize("sizes", SIZES[:4] + MORE, ids=str)
@pytest.mark.parametrize("special", [float("nan"), float("inf")])
def test_special_numbers_reach_what_they_meet(sizes, special):
    grad, x, w, settings = made(sizes)
    x[1, 2, 0, 3] = special
    given = ops.conv2d_weight_grad(grad, x, w.shape, *settings).float()
    wanted = ops.conv2d_weight_grad(grad.float(), x.float(), w.shape, *settings)
    assert flambeau.equal(given.isfinite(), wanted.isfinite())
    assert flambeau.equal(given.isnan(), wanted.isnan())
