"""Calls of group normalization, resampling, grids, bags and alignments (see ``samples.py``)."""

from numbers_for_tests import reals, whole

from flambeau.core import ops


def _resampled(shape, size, mode, align=False, scales=None):
    return lambda: (lambda x: ops.resample(x, size, mode, align, scales), (reals(*shape),))


def _resampled_back(shape, size, mode):
    return lambda: (lambda g: ops.resample_grad(g, size, mode), (reals(*shape),))


def _group(groups, *shape):
    return lambda: (lambda x, w, b: ops.native_group_norm(x, w, b, groups, 1e-5)[0],
                    (reals(*shape), reals(shape[1], seed=1), reals(shape[1], seed=2)))


def _bag(mode, padding=-1, last=False):
    return lambda: (lambda w: ops.embedding_bag_rows(
        w, whole([0, 3, 3, 2, 1]), whole([0, 2, 2, 4]), None, mode, last, padding, False)[0],
        (reals(4, 2),))


def _weighted_bag():
    return lambda: (lambda w, p: ops.embedding_bag_rows(
        w, whole([0, 3, 2, 1]), whole([0, 2, 2]), p, 0, False, 2, False)[0],
        (reals(4, 2), reals(4, seed=1)))


def _rare_bag():
    """scale_grad_by_freq gives the derivative only where no row occurs twice."""
    return lambda: (lambda w: ops.embedding_bag_rows(
        w, whole([0, 3, 2]), whole([0, 1]), None, 1, False, -1, True)[0], (reals(4, 2),))


def _grid(shape, indices, *modes):
    return lambda: (lambda x, g: ops.grid_sampler(x, g, *modes),
                    (reals(*shape), reals(*indices, low=-1.2, high=1.2, seed=5)))


def _ctc(targets):
    return lambda: (lambda x: ops.ctc_loss_rows(
        x.log_softmax(-1), whole(targets), whole([4, 4, 3]), whole([2, 1, 0]), 0),
        (reals(4, 3, 3),))


IMAGES = {
    "native_group_norm": [_group(2, 2, 4, 3), _group(1, 2, 2),
                          lambda: (lambda x: ops.native_group_norm(x, None, None, 2, 1e-5)[0],
                                   (reals(2, 2, 3),))],
    "resample": [_resampled((1, 1, 3, 4), (5, 2), "linear"), _resampled((1, 2, 4), (7,), "cubic"),
                 _resampled((1, 1, 3, 4), (5, 2), "area"),
                 _resampled((1, 1, 5), (2,), "smooth-cubic"),
                 _resampled((1, 1, 2, 3, 2), (3, 2, 4), "linear", True),
                 _resampled((1, 1, 3), (5,), "nearest", False, (1.7,))],
    "resample_grad": [_resampled_back((1, 1, 5, 2), (3, 4), "linear")],
    "embedding_bag_rows": [_bag(0), _bag(1, 3), _bag(1, -1, True), _bag(2), _weighted_bag(),
                           _rare_bag()],
    "grid_sampler": [_grid((1, 2, 3, 4), (1, 2, 2, 2), mode, border, align)
                     for mode in (0, 2) for border in (0, 1, 2) for align in (False, True)]
    + [_grid((1, 1, 3, 2, 2), (1, 1, 2, 2, 3), 0, 0, False),
       lambda: (lambda x, g: ops.grid_sampler(x, g, 1, 0, False) * g.sum(),
                (reals(1, 2, 3, 4), reals(1, 2, 2, 2, seed=5)))],
    "ctc_loss_rows": [_ctc([[1, 1], [2, 1], [0, 0]]), _ctc([1, 2, 2])],
}
