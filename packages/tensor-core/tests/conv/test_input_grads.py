"""Gradients of convolutions for their input: windows turned around, and phases of them."""

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

# channels in and out, image, window, stride, padding, dilation, groups
SIZES = [
    (40, 70, (2, 2), (3, 3), 1, 1, 1, 1),
    (17, 33, (1, 3), (3, 3), 1, 1, 1, 1),
    (5, 300, (6, 4), (3, 3), 2, 1, 1, 1),
    (33, 18, (9, 10), (3, 3), (2, 1), 1, 1, 1),
    (16, 65, (8, 8), (1, 2), 1, 0, 1, 1),
    (20, 30, (7, 7), (2, 2), 1, 0, (1, 2), 2),
    (3, 40, (20, 20), (7, 7), 2, 3, 1, 1),
    (12, 9, (11, 12), (4, 3), 3, 2, 1, 3),
    (2, 3, (16, 17), (5, 5), 2, 2, 1, 1),
    (30, 44, (8, 8), (1, 1), 2, 0, 1, 1),
    (2, 4, (40, 3), (17, 3), 1, (8, 1), 1, 1),
    (1, 2, (30, 30), (20, 20), 1, 3, 1, 1),
]


def operands(sizes, dtype, draw):
    c, o, image, window, *settings = sizes
    shape = (3, c, *image)
    weight = flambeau.tensor(draw((o, c // settings[3], *window))).to(dtype)
    grad = ops.conv2d(flambeau.zeros(shape, dtype=dtype), weight, None, *settings).shape
    return flambeau.tensor(draw(tuple(grad))).to(dtype), weight, shape, *settings


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64], ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_integers_are_exact(sizes, dtype, threads):
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(threads)
    rng = np.random.default_rng(0)
    grad, weight, *rest = operands(sizes, dtype, lambda shape: rng.integers(-9, 10, shape) * 1.0)
    try:
        found = ops.conv2d_input_grad(grad, weight, *rest)
    finally:
        flambeau.set_num_threads(before)
    exact = ops.conv2d_input_grad(grad.long(), weight.long(), *rest)
    np.testing.assert_array_equal(found.numpy(), exact.numpy())


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_strided_weights_change_no_bit(sizes):
    rng = np.random.default_rng(1)
    grad, weight, *rest = operands(sizes, flambeau.float32, rng.standard_normal)
    turned = weight.permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0)
    np.testing.assert_array_equal(ops.conv2d_input_grad(grad, weight, *rest).numpy(),
                                  ops.conv2d_input_grad(grad, turned, *rest).numpy())
