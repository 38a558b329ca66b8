"""Sample arguments of the definitions of windows; see ``by_key.py``."""
from __future__ import annotations


def _conv3d(m, grad=""):
    options: list = [(1, 0, 1, 1), ((1, 2, 2), (2, 0, 1), 1, 2), (2, 1, (2, 1, 1), 1)]
    for stride, padding, dilation, groups in options:
        x, w = m.array(2, 2, 5, 6, 4), m.array(4, 2 // groups, 2, 3, 2)
        sizes = [(n + 2 * p - (k - 1) * d - 1) // s + 1 for n, k, s, p, d in zip(
            (5, 6, 4), (2, 3, 2), *(((v, v, v) if isinstance(v, int) else v)
                                    for v in (stride, padding, dilation)), strict=True)]
        g, rest = m.array(2, 4, *sizes), (stride, padding, dilation, groups)
        if grad == "input":
            yield g, w, x.shape, *rest
        elif grad == "weight":
            yield g, x, w.shape, *rest
        else:
            yield x, w, m.array(4), *rest
            yield x[0], w, None, *rest


def _columns(m):
    return [(m.array(2, 3, 5, 6), 2, 1, 0, 1), (m.array(3, 5, 6), (3, 2), (1, 2), (2, 1), (2, 3))]


def _images(m):
    return [(m.array(2, 12, 20), (5, 6), 2, 1, 0, 1),
            (m.array(18, 8), (5, 6), (3, 2), (1, 2), (2, 1), (2, 3))]


def _adaptive(m):
    return [(m.array(2, 3, 5), d, count) for d, count in ((-1, 3), (1, 2), (0, 4), (2, 7))]


def _distinct(m):
    return [(m.distinct(2, 3, 5), d, count) for d, count in ((-1, 3), (1, 2), (0, 4))]


def _fractional(m):
    return [(m.distinct(2, 3, 5, 6), abs(m.array(2, 3, 2)) / 4, (2, 3), (3, 2)),
            (m.distinct(1, 2, 4, 4, 5), abs(m.array(1, 2, 3)) / 4, (2, 1, 2), (2, 1, 4))]


def _channels(m, *shape):
    return [(m.array(*shape),), (m.array(*shape), 0.25), (m.array(*shape), 0.5, False)]


#: Definitions that only take real floating tensors.
FLOATING_WINDOWS = {"conv3d_input_grad", "conv3d_weight_grad", "adaptive_mean_grad",
                    "fractional_indices"}

WINDOWS = {
    "conv3d": _conv3d,
    "conv3d_input_grad": lambda m: _conv3d(m, "input"),
    "conv3d_weight_grad": lambda m: _conv3d(m, "weight"),
    "im2col": _columns, "col2im": _images,
    "adaptive_mean": _adaptive, "adaptive_mean_grad": _adaptive,
    "adaptive_max": lambda m: [] if m.dtype in ("bool", "complex64") else _distinct(m),
    "fractional_indices": _fractional,
    "dropout2d": lambda m: _channels(m, 2, 3, 4, 5),
    "dropout3d": lambda m: _channels(m, 2, 3, 2, 4, 3),
}
