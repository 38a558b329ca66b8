"""Calls of convolutions, pooling and fold with their rules (see ``samples.py``)."""

from numbers_for_tests import reals

import flambeau
from flambeau.core import ops


def _grad_of_conv(name, *shapes, size):
    return lambda: (lambda a, b: getattr(ops, name)(a, b, size, (2, 1, 1), (1, 0, 0)),
                    (reals(*shapes[0]), reals(*shapes[1], seed=1)))


def _of(name, *args, shape, **options):
    """A composite: its derivative is that of the operators it calls."""
    return lambda: (lambda x: getattr(ops, name)(x, *args, **options), (reals(*shape),))


def _transposed(name, image, weight):
    return lambda: (lambda x, w, b: getattr(ops, name)(x, w, b, 2, 1, 1),
                    (reals(*image), reals(*weight, seed=1), reals(weight[1], seed=2)))


def _unpooled(x):
    values, indices = ops.max_pool2d(x, 2, return_indices=True)
    return ops.max_unpool2d(values, indices, 2)


def _fractional(x):
    samples = flambeau.tensor([[[0.3, 0.8]]], dtype=x.dtype)
    return ops.fractional_max_pool2d(x, 2, output_size=(2, 3), _random_samples=samples)


WINDOWS = {
    "conv3d": [
        lambda: (lambda x, w, b: ops.conv3d(x, w, b, (1, 2, 1), (1, 0, 0)),
                 (reals(2, 2, 2, 3, 2), reals(2, 2, 2, 2, 1, seed=1), reals(2, seed=2))),
        lambda: (lambda x, w: ops.conv3d(x, w, None, 1, 0, (1, 2, 1), 2),
                 (reals(2, 2, 3, 2), reals(2, 1, 2, 2, 1, seed=1))),
    ],
    "conv3d_input_grad": [_grad_of_conv("conv3d_input_grad", (1, 2, 2, 2, 2), (2, 2, 2, 2, 1),
                                        size=(1, 2, 3, 3, 2))],
    "conv3d_weight_grad": [_grad_of_conv("conv3d_weight_grad", (1, 2, 2, 2, 2), (1, 2, 3, 3, 2),
                                         size=(2, 2, 2, 2, 1))],
    "im2col": [_of("im2col", (2, 1), 1, (1, 0), (1, 2), shape=(1, 2, 3, 3))],
    "col2im": [_of("col2im", (3, 3), (2, 1), 1, (1, 0), (1, 2), shape=(4, 8))],
    "adaptive_mean": [_of("adaptive_mean", 1, 3, shape=(2, 5, 2)),
                      _of("adaptive_mean", -1, 7, shape=(2, 5))],
    "adaptive_mean_grad": [_of("adaptive_mean_grad", 1, 5, shape=(2, 3, 2))],
    "adaptive_max": [lambda: (lambda x: ops.adaptive_max(x, 1, 3)[0], (reals(2, 5, 2),))],
}

#: Composites, whose derivatives are those of several operators.
COMPOSITES = {
    "conv1d": lambda: (lambda x, w, b: ops.conv1d(x, w, b, 2, 1, 2),
                       (reals(2, 2, 5), reals(3, 2, 2, seed=1), reals(3, seed=2))),
    "conv2d.padding": lambda: (lambda x, w: ops.conv2d(x, w, padding="same"),
                               (reals(1, 2, 3, 3), reals(2, 2, 2, 3, seed=1))),
    "conv_transpose1d": _transposed("conv_transpose1d", (2, 2, 4), (2, 3, 3)),
    "conv_transpose2d": _transposed("conv_transpose2d", (1, 2, 2, 2), (2, 2, 3, 2)),
    "conv_transpose3d": _transposed("conv_transpose3d", (1, 1, 2, 2, 2), (1, 2, 2, 3, 2)),
    "max_pool1d": _of("max_pool1d", 2, 1, shape=(2, 2, 5)),
    "max_pool3d": _of("max_pool3d", 2, 1, 1, shape=(1, 2, 3, 3, 2)),
    "avg_pool1d": _of("avg_pool1d", 3, 2, 1, shape=(2, 2, 5)),
    "avg_pool3d": _of("avg_pool3d", 2, 1, 1, False, False, shape=(1, 2, 3, 2, 2)),
    "adaptive_avg_pool2d": _of("adaptive_avg_pool2d", (2, 3), shape=(1, 2, 3, 5)),
    "adaptive_avg_pool3d": _of("adaptive_avg_pool3d", (2, 1, 2), shape=(1, 2, 3, 2, 3)),
    "adaptive_max_pool2d": _of("adaptive_max_pool2d", (2, 3), shape=(1, 2, 3, 5)),
    "lp_pool2d": lambda: (lambda x: ops.lp_pool2d(x, 3.0, 2), (reals(1, 2, 4, 4, low=0.3),)),
    "max_unpool2d": lambda: (_unpooled, (reals(1, 2, 4, 4),)),
    "fractional_max_pool2d": lambda: (_fractional, (reals(1, 1, 4, 5),)),
}
