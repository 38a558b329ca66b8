"""Convolutions of bfloat16 that some processors make of tiles, beside float64."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

#: Images, channels, output channels, height, width, window, padding, dilation, groups.
CASES = (
    (2, 64, 64, 30, 30, (3, 3), (1, 1), (1, 1), 1),
    (1, 32, 48, 14, 14, (3, 3), (1, 1), (1, 1), 1),
    (3, 48, 40, 7, 9, (3, 3), (1, 1), (1, 1), 1),
    (2, 33, 35, 10, 11, (3, 5), (1, 2), (1, 1), 1),
    (2, 64, 64, 12, 12, (3, 3), (2, 2), (2, 2), 2),
    (1, 300, 130, 14, 14, (3, 3), (1, 1), (1, 1), 1),
    (2, 64, 33, 20, 31, (2, 2), (0, 0), (1, 1), 1),
    (1, 40, 72, 5, 5, (5, 5), (3, 3), (1, 1), 1),
    (1, 16, 16, 4, 100, (1, 3), (0, 1), (1, 1), 1),
    (2, 17, 50, 100, 3, (3, 1), (2, 0), (1, 1), 1),
    (1, 96, 20, 9, 8, (3, 3), (4, 4), (1, 1), 1),
    (1, 512, 96, 60, 60, (3, 3), (1, 1), (1, 1), 1),
)


def _made(rng, *shape):
    return flambeau.tensor(rng.standard_normal(shape).astype("float32")).bfloat16()


def _operands(case):
    images, channels, out, height, width, window, *_, groups = case
    rng = np.random.default_rng(sum(case[:5]))
    weight = _made(rng, out, channels // groups, *window)
    return _made(rng, images, channels, height, width), weight, _made(rng, out), rng


def _close(given, expected, terms):
    assert given.dtype is flambeau.bfloat16
    expected = expected.numpy()
    error = np.abs(given.double().numpy() - expected)
    assert (error <= 2.0**-8 * np.abs(expected) + 4e-5 * terms**0.5).all()


@pytest.mark.parametrize("case", CASES)
def test_result(case):
    x, weight, bias, _ = _operands(case)
    words = {"padding": case[6], "dilation": case[7], "groups": case[8]}
    wide = ops.conv2d(x.double(), weight.double(), bias.double(), **words)
    terms = weight[0].numel()
    _close(ops.conv2d(x, weight, bias, **words), wide, terms)
    strided = flambeau.full((*x.shape[:3], 2 * x.shape[3]), float("nan"), dtype=x.dtype)
    strided[..., ::2] = x
    _close(ops.conv2d(strided[..., ::2], weight, **words),
           wide - bias.double()[:, None, None], terms)


@pytest.mark.parametrize("case", CASES)
def test_gradient_of_the_input(case):
    x, weight, _, rng = _operands(case)
    words = ((1, 1), *case[6:9])
    grad = _made(rng, *ops.conv2d(x, weight, None, *words).shape)
    given = ops.conv2d_input_grad(grad, weight, x.shape, *words)
    expected = ops.conv2d_input_grad(grad.double(), weight.double(), x.shape, *words)
    _close(given, expected, weight[:, 0].numel())


def test_threads_and_batches_give_the_same_bits():
    x, weight, bias, _ = _operands((3, 64, 160, 40, 40, (3, 3), 1))
    together = ops.conv2d(x, weight, bias, padding=1)
    threads = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(1)
        assert ops.conv2d(x, weight, bias, padding=1).equal(together)
    finally:
        flambeau.set_num_threads(threads)
    assert ops.conv2d(x[1:2], weight, bias, padding=1).equal(together[1:2])
    assert ops.conv2d(x, weight[32:96], bias[32:96], padding=1).equal(together[:, 32:96])


def test_nan_and_infinity_reach_their_windows_alone():
    x, weight = flambeau.ones(1, 32, 20, 20).bfloat16(), flambeau.ones(32, 32, 3, 3).bfloat16()
    x[0, 5, 0, 19], x[0, 31, 10, 0] = float("nan"), float("inf")
    given = ops.conv2d(x, weight, padding=1)[0].float().numpy()
    assert np.isnan(given[:, :2, 18:]).all()
    assert np.isinf(given[:, 9:12, :2]).all()
    given[:, :2, 18:] = given[:, 9:12, :2] = 0
    assert np.isfinite(given).all()
