"""Joining, gathering, scattering, sorting, with NumPy."""
from __future__ import annotations

import numpy as np

from flambeau.testing.reference.kernels import kernel


@kernel("cat")
def cat(tensors, dim):
    parts = [t for t in tensors if t.shape != (0,)] or list(tensors)
    return np.concatenate(parts, dim)


@kernel("index_select")
def index_select(x, dim, index):
    if x.ndim == 0:
        return x
    return np.take(x, np.atleast_1d(index), dim)


def _along(index, dim):
    """Open mesh that names the elements ``x[..., index[i, j, k], ...]`` at ``dim``."""
    positions = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    positions[dim] = index
    return tuple(positions)


def _added(total, positions, values):
    """``total[positions] += values`` that counts repeated positions, in double precision."""
    wide = total.astype(np.float64) if total.dtype.kind == "f" else total.copy()
    np.add.at(wide, positions, values)
    return wide


@kernel("index_add")
def index_add(x, dim, index, source, alpha):
    positions = (slice(None),) * (dim % max(x.ndim, 1)) + (np.atleast_1d(index),)
    if x.ndim == 0:
        return x + (source * alpha).sum()
    return _added(x, positions, source * np.asarray(alpha).astype(x.dtype))


@kernel("gather")
def gather(x, dim, index):
    if index.ndim == 0 or x.ndim == 0:
        return np.broadcast_to(x.reshape(-1)[index], index.shape)
    return x[_along(index, dim)]


def _source(src, index):
    return src[tuple(slice(n) for n in index.shape)]


@kernel("scatter_add")
def scatter_add(x, dim, index, src):
    if x.ndim == 0 or index.size == 0:
        return x + src if index.size else x
    return _added(x, _along(index, dim), _source(src, index))


@kernel("scatter.src", "scatter.value")
def scatter(x, dim, index, src):
    result = x.copy()
    if index.size == 0:
        return result
    if x.ndim == 0:
        return np.broadcast_to(src, x.shape)
    result[_along(index, dim)] = src if np.isscalar(src) else _source(src, index)
    return result


def _positions(indices):
    return tuple(slice(None) if i is None else i for i in indices)


@kernel("index")
def index_(x, indices):
    return x[_positions(indices)]


@kernel("index_put")
def index_put(x, indices, values, accumulate):
    if accumulate:
        return _added(x, _positions(indices), values)
    result = x.copy()
    result[_positions(indices)] = values
    return result


@kernel("masked_select")
def masked_select(x, mask):
    x, mask = np.broadcast_arrays(x, mask)
    return x[mask]


@kernel("nonzero")
def nonzero(x):
    return np.argwhere(x)


@kernel("flip")
def flip(x, dims):
    return np.flip(x, dims)


def _order(x, dim, descending):
    """Stable order; nan counts as the greatest."""
    if not descending:
        return np.argsort(x, dim, kind="stable")
    n = x.shape[dim]
    back = np.argsort(np.flip(x, dim), dim, kind="stable")
    return np.flip(n - 1 - back, dim)


@kernel("sort")
def sort(x, dim, descending, stable):
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    order = _order(x, dim, descending)
    return np.take_along_axis(x, order, dim), order


@kernel("topk")
def topk(x, k, dim, largest, is_sorted):
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    order = np.take(_order(x, dim, largest), np.arange(k), dim)
    return np.take_along_axis(x, order, dim), order


@kernel("tril")
def tril(x, diagonal):
    return np.tril(x, diagonal)


@kernel("triu")
def triu(x, diagonal):
    return np.triu(x, diagonal)


@kernel("one_hot_rows")
def one_hot_rows(x, classes):
    return x[..., None] == np.arange(classes)
