"""Borders, writing by position, searching, with NumPy."""
from __future__ import annotations

import numpy as np

from flambeau.testing.reference.indexing import _added, _along, _source
from flambeau.testing.reference.kernels import kernel


@kernel("repeat_indices")
def repeat_indices(repeats, total):
    return np.repeat(np.arange(len(repeats)), repeats)


# ---- borders: pairs of widths, the last dimension first ----------------------------------------
def _pairs(pad, ndim):
    pairs = [(0, 0)] * ndim
    for i in range(len(pad) // 2):
        pairs[ndim - 1 - i] = (pad[2 * i], pad[2 * i + 1])
    return pairs


def _cropped(x, pairs):
    positions = tuple(slice(max(-left, 0), n - max(-right, 0))
                   for (left, right), n in zip(pairs, x.shape, strict=True))
    return x[positions], [(max(left, 0), max(right, 0)) for left, right in pairs]


@kernel("constant_pad_nd")
def constant_pad_nd(x, pad, value):
    x, pairs = _cropped(x, _pairs(pad, x.ndim))
    return np.pad(x, pairs, constant_values=np.asarray(value).astype(x.dtype))


def _numbers(shape, pad, mode):
    """For each element of the padded tensor the number of the element it repeats."""
    inside = np.arange(int(np.prod(shape))).reshape(shape)
    for d, (left, right) in enumerate(_pairs(pad, len(shape))):
        n = shape[d]
        at = np.arange(-left, n + right)
        positions = (np.where(at < 0, -at, np.where(at >= n, 2 * (n - 1) - at, at)),
                  np.clip(at, 0, n - 1), at % n)[mode]
        inside = np.take(inside, positions, d)
    return inside


@kernel("pad_by")
def pad_by(x, pad, mode):
    return x.reshape(-1)[_numbers(x.shape, pad, mode)]


@kernel("pad_by_grad")
def pad_by_grad(grad, pad, mode, size):
    positions = _numbers(tuple(size), pad, mode)
    return _added(np.zeros(int(np.prod(size)), grad.dtype), (positions,), grad).reshape(size)


# ---- writing by position -----------------------------------------------------------------------
def _slices(x, dim, index):
    return (slice(None),) * (dim % max(x.ndim, 1)) + (np.atleast_1d(index),)


@kernel("index_copy", "index_fill")
def index_copy(x, dim, index, source):
    result = x.copy().reshape(x.shape or (1,))
    result[_slices(x, dim, index)] = source
    return result.reshape(x.shape)


@kernel("masked_scatter")
def masked_scatter(x, mask, source):
    x, mask = np.broadcast_arrays(x, mask)
    result = x.copy()
    result[mask] = source.reshape(-1)[:mask.sum()]
    return result


_REDUCTIONS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum,
          "amin": np.minimum}


def _start(reduce, dtype):
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    limits = (-np.inf, np.inf) if dtype.kind in "fc" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return limits[reduce == "amin"]


@kernel("scatter_reduce")
def scatter_reduce(x, dim, index, src, reduce, include_self):
    positions = _along(index, dim)
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x.copy()
    if not include_self:
        wide[positions] = _start(reduce, wide.dtype)
    count = np.ones(x.shape, np.int64)
    count[positions] = int(include_self)
    np.add.at(count, positions, 1)
    with np.errstate(over="ignore"):
        _REDUCTIONS[reduce].at(wide, positions, _source(src, index))
    if reduce != "mean":
        return wide
    return wide // count if x.dtype.kind in "iu" else wide / count


# ---- searching ---------------------------------------------------------------------------------
@kernel("searchsorted")
def searchsorted(sequence, values, out_int32, right, side, sorter):
    side = side or ("right" if right else "left")
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, side, sorter)
    rows = sequence.reshape(-1, sequence.shape[-1])
    wanted = values.reshape(len(rows), -1)
    orders = [None] * len(rows) if sorter is None else sorter.reshape(rows.shape)
    found = [np.searchsorted(a, v, side, o) for a, v, o in zip(rows, wanted, orders, strict=True)]
    return np.stack(found).reshape(values.shape)


@kernel("bucketize")
def bucketize(values, boundaries, out_int32, right):
    return np.searchsorted(boundaries, values, "right" if right else "left")


@kernel("isin_of")
def isin_of(elements, tests):
    return np.isin(elements, tests)


@kernel("row_order")
def row_order(x):
    return np.lexsort(x.T[::-1])
