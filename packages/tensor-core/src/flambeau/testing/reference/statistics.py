"""Norms, scans, order statistics and histograms, with NumPy."""
from __future__ import annotations

import numpy as np

from flambeau.core import _core
from flambeau.testing import arrays
from flambeau.testing.reference.kernels import kernel, raw_kernel
from flambeau.testing.reference.reduce import _converted, _wide, axes, var


@kernel("std")
def std(x, dim, correction, keepdim):
    return np.sqrt(var(x, dim, correction, keepdim))


@kernel("nansum")
def nansum(x, dim, keepdim, dtype):
    return np.nansum(_converted(x, dtype), axes(x, dim), keepdims=keepdim)


@kernel("norm_of")
def norm_of(x, p, dim, keepdim, dtype):
    along = axes(x, dim)
    size = np.abs(_wide(_converted(x, dtype)))
    if np.isinf(p):
        return (size.max if p > 0 else size.min)(along, keepdims=keepdim)
    if p == 0:
        return (size != 0).sum(along, keepdims=keepdim).astype(size.dtype)
    return (size ** p).sum(along, keepdims=keepdim) ** (1 / p)


# ---- scans -------------------------------------------------------------------------------------
@kernel("cumprod")
def cumprod(x, dim, dtype):
    x = _converted(x, dtype)
    return np.cumprod(x, dim) if x.ndim else x


def _running(x, dim, better):
    """Running extremes one element at a time."""
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    lines = np.moveaxis(x, dim, 0)
    values, indices = lines.copy(), np.zeros(lines.shape, np.int64)
    for i in range(1, len(lines)):
        take = (better(lines[i], values[i - 1]) & (values[i - 1] == values[i - 1])) \
            | (lines[i] != lines[i])
        values[i] = np.where(take, lines[i], values[i - 1])
        indices[i] = np.where(take, i, indices[i - 1])
    return np.moveaxis(values, 0, dim), np.moveaxis(indices, 0, dim)


@kernel("cummax")
def cummax(x, dim):
    return _running(x, dim, np.greater_equal)


@kernel("cummin")
def cummin(x, dim):
    return _running(x, dim, np.less_equal)


@kernel("logcumsumexp")
def logcumsumexp(x, dim):
    if x.ndim == 0:
        return x
    x = _wide(x)
    if not np.iscomplexobj(x):
        return np.logaddexp.accumulate(x, dim)
    lines = np.moveaxis(x, dim, 0)
    values = lines.copy()
    for i in range(1, len(lines)):
        values[i] = _log_of_sum(values[i - 1], lines[i])
    return np.moveaxis(values, 0, dim)


def _log_of_sum(a, b):
    """``log(exp(a) + exp(b))`` on the branch of the greater term, as PyTorch has it."""
    low, high = np.where(a.real < b.real, (a, b), (b, a))
    return high + np.log1p(np.exp(low - high))


# ---- order statistics --------------------------------------------------------------------------
def _at_rank(x, dim, keepdim, rank):
    """What a stable sort puts at a rank, and where it stood; NaN sorts last."""
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    order = np.argsort(x, dim, kind="stable")
    where = np.take_along_axis(order, np.expand_dims(rank(x), dim), dim)
    values = np.take_along_axis(x, where, dim)
    return (values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim))


def _middle(x, dim):
    return np.full(np.delete(x.shape, dim), (x.shape[dim] - 1) // 2)


@kernel("median.dim", "nanmedian.dim")
def median_dim(x, dim, keepdim):
    return _at_rank(x, dim, keepdim, lambda x: _middle(x, dim))


@kernel("median", "nanmedian")
def median(x):
    return _at_rank(x.reshape(-1), 0, False, lambda x: _middle(x, 0))[0]


@kernel("kthvalue")
def kthvalue(x, k, dim, keepdim):
    return _at_rank(x, dim, keepdim, lambda x: np.full(np.delete(x.shape, dim), k - 1))


@kernel("mode")
def mode(x, dim, keepdim):
    """The first in order of those met most often, at the last of its positions."""
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    lines = np.moveaxis(x, dim, -1)
    values = np.empty(lines.shape[:-1], x.dtype)
    indices = np.empty(lines.shape[:-1], np.int64)
    for at in np.ndindex(*lines.shape[:-1]):
        found, counts = np.unique(lines[at], return_counts=True)
        values[at] = found[counts.argmax()]
        indices[at] = np.flatnonzero(lines[at] == values[at])[-1]
    return (np.expand_dims(values, dim), np.expand_dims(indices, dim)) if keepdim \
        else (values, indices)


# ---- histograms --------------------------------------------------------------------------------
@kernel("histc")
def histc(x, bins, low, high):
    if low == high:
        low, high = (x.min(), x.max()) if x.size else (low, high)
    if low == high:
        low, high = low - 1, high + 1
    return np.histogram(x, bins, (low, high))[0].astype(x.dtype)


@kernel("bincount_of")
def bincount_of(x, weights, size):
    return np.bincount(x, weights, size)


@kernel("csr_product")
def csr_product(row_starts, columns, values, dense):
    rows = np.repeat(np.arange(len(row_starts) - 1), np.diff(row_starts))
    total = np.zeros((len(row_starts) - 1, dense.shape[1]), dense.dtype)
    np.add.at(total, rows, values[:, None] * dense[columns])
    return total


@kernel("quantized_linear")
def quantized_linear(x, weight, scales, bias):
    most = np.abs(x.astype(np.float32)).max(-1, keepdims=True, initial=0)
    step = most / np.float32(127)
    tiny = step < np.finfo(np.float32).tiny
    whole = np.where(tiny, 0, np.rint(x * (np.float32(127) / np.where(tiny, 1, most))))
    sums = whole.astype(np.int64) @ weight.astype(np.int64).T
    result = sums.astype(np.float32) * (step * scales)
    return (result if bias is None else result + bias).astype(x.dtype)


@kernel("weight_only_linear")
def weight_only_linear(x, weight, scales, offsets, bias, group):
    values = weight
    if weight.dtype == np.uint8:
        blocks = weight.reshape(len(weight), -1, 16)
        values = np.concatenate([blocks & 15, blocks >> 4], 2).reshape(len(weight), -1)
        values = values[:, :x.shape[-1]].astype(np.float64) - (8 if offsets is None else 0)
    if scales is not None:
        times = group or x.shape[-1]
        scales, offsets = (None if f is None else np.repeat(f, times, 1)[:, :x.shape[-1]]
                           for f in (scales, offsets))
        values = values * scales + (0 if offsets is None else offsets)
    result = x.astype(np.float64) @ values.astype(np.float64).T
    return (result if bias is None else result + bias).astype(x.dtype)


@kernel("sampled_product")
def sampled_product(rows, columns, left, right):
    return (left[rows] * right[columns]).sum(1)


@kernel("histogram_of")
def histogram_of(points, edges, weight):
    return np.histogramdd(points, edges, weights=weight)[0]


@kernel("check_probabilities")
def check_probabilities(x):
    return np.all((x >= 0) & (x <= 1))


def _drawn_on_cpu(key: str):
    """A random definition of parameters that are tensors, by the CPU's kernel."""
    def run(args, outs):
        drawn = _core.call(key, [a.cpu() if _core.is_tensor(a) else a for a in args])
        arrays.memory_of(outs[0])[...] = arrays.host_memory(drawn)

    return run


for _key in ("bernoulli", "poisson", "binomial", "multinomial", "standard_gamma",
             "sample_dirichlet"):
    raw_kernel(_key)(_drawn_on_cpu(_key))
