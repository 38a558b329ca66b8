"""Samples of rules that write by position and pad, and composites of movement; see samples.py."""

from numbers_for_tests import complexes, reals, whole

import flambeau
from flambeau.core import ops

F = ops
INDEX = [[0, 2, 1], [2, 2, 0]]


def _mask():
    return flambeau.tensor([[True, False, True], [False, False, True]])


def _reduce(reduce, include, low=-2.0, shape=(2, 3)):
    return lambda: (
        lambda a, b: a.scatter_reduce(0, whole(INDEX), b, reduce, include_self=include),
        (reals(3, 4, low=low), reals(*shape, low=low, seed=5)))


def _prod_with_zeros():
    """One zero at some indices; two at none."""
    def function(a, b):
        b = b * flambeau.tensor([[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]], dtype=flambeau.float64)
        return a.scatter_reduce(0, whole(INDEX), b, "prod")

    return function, (reals(3, 4), reals(2, 3, seed=5))


SAMPLES = {
    "index_copy": [
        lambda: (lambda a, b: a.index_copy(1, whole([2, 0]), b),
                 (reals(2, 4), reals(2, 2, seed=1))),
        lambda: (lambda a, b: a.index_copy(0, whole([0]), b), (reals(), reals(seed=1))),
    ],
    "index_fill": [
        lambda: (lambda a, v: a.index_fill(0, whole([1, 1, -3]), v), (reals(3, 2), reals(seed=1))),
        lambda: (lambda a: a.index_fill(1, whole([0]), 2.5), (reals(2, 3),)),
    ],
    "masked_scatter": [
        lambda: (lambda a, s: a.masked_scatter(_mask(), s), (reals(2, 3), reals(5, seed=1))),
        lambda: (lambda a, s: a.masked_scatter(_mask(), s), (reals(3), reals(2, 2, seed=1))),
    ],
    "scatter_reduce": [
        *[_reduce(reduce, include) for reduce in ("sum", "mean", "amax", "amin")
          for include in (True, False)],
        _reduce("prod", True, 0.5), _reduce("prod", False, 0.5), _reduce("sum", True, shape=(3, 4)),
        _prod_with_zeros,
        lambda: (lambda a, b: a.scatter_reduce(0, whole(INDEX), b, "mean"),
                 (complexes(3, 4), complexes(2, 3, seed=1))),
    ],
    "constant_pad_nd": [
        lambda: (lambda a: flambeau.constant_pad_nd(a, (1, 2, -1, 0), 3.0), (reals(3, 2),)),
    ],
    "pad_by": [
        lambda mode=mode: (lambda a: F.pad(a, (1, 2, 0, 1), mode), (reals(1, 2, 3),))
        for mode in ("reflect", "replicate", "circular")],
    "pad_by_grad": [
        lambda: (lambda g: ops.pad_by_grad(g, (1, 2), 0, (2, 3)), (reals(2, 6),)),
    ],
}

#: Composites, differentiated as their parts are.
COMPOSITES = {
    "cat_with_empty": lambda: (
        lambda a, b: flambeau.cat([a, flambeau.zeros(0, dtype=a.dtype), b], 1),
        (reals(2, 1), reals(2, 2, seed=1))),
    "diag_embed": lambda: (lambda a: a.diag_embed(1), (reals(2, 2),)),
    "diagonal_scatter": lambda: (lambda a, b: a.diagonal_scatter(b, 1),
                                 (reals(2, 3), reals(2, seed=1))),
    "select_scatter": lambda: (lambda a, b: a.select_scatter(b, 1, 0),
                               (reals(2, 3), reals(2, seed=1))),
    "slice_scatter": lambda: (lambda a, b: a.slice_scatter(b, 1, 0, 3, 2),
                              (reals(2, 3), reals(2, 2, seed=1))),
    "block_diag": lambda: (lambda a, b: flambeau.block_diag(a, b), (reals(2, 1), reals(2, seed=1))),
    "roll": lambda: (lambda a: a.roll((1, 2), (0, 1)), (reals(2, 3),)),
    "repeat_interleave": lambda: (lambda a: a.repeat_interleave(whole([2, 0, 1]), 1),
                                  (reals(2, 3),)),
    "take": lambda: (lambda a: a.take(whole([0, -1, 0])), (reals(2, 3),)),
    "put": lambda: (lambda a, b: a.put(whole([0, -1, 0]), b, True),
                    (reals(2, 3), reals(3, seed=1))),
    "take_along_dim": lambda: (lambda a: a.take_along_dim(whole([[0, -1]]), 1), (reals(2, 3),)),
    "index_reduce": lambda: (lambda a, b: a.index_reduce(0, whole([0, 0]), b, "mean"),
                             (reals(2, 3), reals(2, 3, seed=1))),
    "pixel_shuffle": lambda: (lambda a: F.pixel_shuffle(a, 2), (reals(4, 1, 2),)),
    "clone_channels_last": lambda: (
        lambda a: a.contiguous(memory_format=flambeau.channels_last) * 2, (reals(1, 2, 2, 1),)),
    "mask_read": lambda: (lambda a: a[_mask()], (reals(2, 3),)),
}
