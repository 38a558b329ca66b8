"""Sample arguments of group normalization, resampling, grids, bags and alignments."""
from __future__ import annotations

import numpy as np


def _positive(m, *shape):
    return np.asarray(np.abs(m.array(*shape)) + np.asarray(0.5).astype(m.numpy_dtype))


def _group_norm(m):
    return [(m.array(2, 6, 3, 4), m.array(6), m.array(6), 3, 1e-5),
            (m.array(3, 4), None, None, 2, 0.5)]


def _group_norm_grad(m):
    return [(m.array(2, 6, 3, 4), m.array(2, 6, 3, 4), w, m.array(2, 3), _positive(m, 2, 3), 3)
            for w in (m.array(6), None)]


_IMAGE, _VOLUME = (2, 2, 5, 6), (1, 2, 3, 4, 5)
_SIZES = [(_IMAGE, (7, 3), mode, align, None)
          for mode, align in (("linear", False), ("linear", True), ("cubic", False),
                              ("cubic", True), ("area", False), ("nearest", False),
                              ("smooth-linear", False), ("smooth-cubic", False),
                              ("smooth-lanczos", False))] + [
    (_IMAGE, (8, 3), "nearest-exact", False, (1.7, 0.6)),
    (_VOLUME, (5, 2, 5), "linear", False, None),
    (_IMAGE, (7, 3), "bytes-linear", True, None), (_IMAGE, (3, 9), "bytes-cubic", False, None),
    (_IMAGE, (3, 9), "bytes-smooth-cubic", False, None)]


def _resample(m, grad=False):
    for shape, size, *rest in _SIZES:
        if grad:
            yield m.array(*shape[:2], *size), shape[2:], *rest
        else:
            yield m.array(*shape), size, *rest


def _grid(m, grad=False):
    """Positions that lie off the pixels and the edges, where the gradient of the grid jumps."""
    dtype = m.numpy_dtype
    for shape, positions in (((2, 2, 4, 5), (2, 3, 2, 2)), ((1, 2, 3, 4, 3), (1, 2, 2, 2, 3))):
        for modes in ((0, 0, False), (0, 1, True), (0, 2, False), (1, 0, False), (2, 1, False)):
            if modes[0] == 2 and len(shape) == 5:
                continue
            count = int(np.prod(positions))
            spread = np.linspace(-1.29, 1.31, count)
            spread = spread[np.argsort(m.rng.random(count))].reshape(positions).astype(dtype)
            g = (m.array(*shape[:2], *positions[1:-1]),) if grad else ()
            yield *g, m.array(*shape), spread, *modes


def _bags(m):
    indices, offsets = np.array([0, 3, 3, 6, 1, 0, 2]), np.array([0, 2, 2, 5])
    table = m.distinct(7, 5)
    return [(table, indices, offsets, f, mode, last, padding, False)
            for f, mode, last, padding in ((None, 0, False, -1), (m.array(7), 0, False, 3),
                                           (None, 1, False, 3), (None, 1, True, -1),
                                           (None, 2, False, 0))]


def _ctc(m, grad=False):
    scores = m.array(4, 3, 3).astype(np.float64)
    scores = (scores - np.log(np.exp(scores).sum(-1, keepdims=True))).astype(m.numpy_dtype)
    lengths = np.array([4, 4, 3]), np.array([2, 1, 0])
    for targets in (np.array([[1, 1], [2, 1], [0, 0]]), np.array([1, 2, 2])):
        if not grad:
            yield scores, targets, *lengths, 0
        elif m.dtype in ("float32", "float64"):
            from flambeau.testing.reference import KERNELS

            loss = KERNELS["ctc_loss_rows"](scores, targets, *lengths, 0)
            yield m.array(3), scores, targets, *lengths, loss.astype(m.dtype), 0


FLOATING = {"native_group_norm", "group_norm_grad", "resample", "resample_grad", "grid_sampler",
            "grid_sampler_grad", "embedding_bag_rows", "ctc_loss_rows", "ctc_loss_grad"}

IMAGES = {
    "native_group_norm": _group_norm, "group_norm_grad": _group_norm_grad,
    "resample": _resample, "resample_grad": lambda m: _resample(m, True),
    "grid_sampler": _grid, "grid_sampler_grad": lambda m: _grid(m, True),
    "embedding_bag_rows": _bags,
    "ctc_loss_rows": _ctc, "ctc_loss_grad": lambda m: _ctc(m, True),
}
