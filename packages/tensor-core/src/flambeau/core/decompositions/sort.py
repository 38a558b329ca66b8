"""Order statistics by sorting; NaN sorts last."""
from __future__ import annotations

from flambeau.core import _core, ops
from flambeau.core.decompositions.shared import count, filled, lowest, numbers
from flambeau.core.dtypes import dtypes


def _at_rank(x, dim, keepdim, rank):
    """What a stable sort puts at a rank, and where it stood."""
    if not x.ndim:
        return x, filled((), 0, x).to(dtypes["int64"])
    values, order = ops.sort(x, dim, stable=True)
    if not _core.is_tensor(rank):
        found = values.narrow(dim, rank, 1), order.narrow(dim, rank, 1)
    else:
        found = ops.gather(values, dim, rank), ops.gather(order, dim, rank)
    return found if keepdim else tuple(v.squeeze(dim) for v in found)


def _first_nan(x, dim, keepdim):
    """The median, which is NaN, and where it first stands, of a row that has NaN."""
    values, indices = _at_rank(x, dim, True, (x.shape[dim] - 1) // 2)
    if x.dtype.is_floating_point:
        nan = x.isnan()
        first = nan.to(dtypes["uint8"]).argmax(dim, True)
        has = nan.any(dim, True)
        values = ops.where(has, filled((), float("nan"), x), values)
        indices = ops.where(has, first, indices)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def median__dim(x, dim, keepdim):
    return _first_nan(x, dim, keepdim) if x.ndim else _at_rank(x, dim, keepdim, 0)


def _whole(by_dim, x):
    """The median of all elements: NaN where there are none, of floats."""
    if not x.numel():
        return filled((), float("nan") if x.dtype.is_floating_point else 0, x)
    return by_dim(x.reshape(x.numel()), 0, False)[0]


def median(x):
    return _whole(median__dim, x)


def nanmedian__dim(x, dim, keepdim):
    if not x.ndim or not x.dtype.is_floating_point:
        return median__dim(x, dim, keepdim)
    numbers_there = (~x.isnan()).to(dtypes["int64"]).sum(dim, True)
    return _at_rank(x, dim, keepdim, ((numbers_there - 1) // 2).clamp(0))


def nanmedian(x):
    return _whole(nanmedian__dim, x)


def row_order(x):
    """The last column first: each sort leaves what is equal in the order it found."""
    order = numbers(x.shape[0], x.device)
    for column in range(x.shape[1] - 1, -1, -1):
        values = ops.gather(x.select(1, column), 0, order)
        order = ops.gather(order, 0, ops.sort(values, 0, stable=True)[1])
    return order


def kthvalue(x, k, dim, keepdim):
    return _at_rank(x, dim, keepdim, k - 1)


def searchsorted(sorted_sequence, x, out_int32, right, side, sorter):
    if sorter is not None:
        sorted_sequence = ops.gather(sorted_sequence, -1, sorter)
    right = right or side == "right"
    if not _core.is_tensor(x):
        x = filled((), x, sorted_sequence)
    values = x.unsqueeze(-1)
    edges = sorted_sequence.unsqueeze(-2) if sorted_sequence.ndim > 1 else sorted_sequence
    below = edges <= values if right else edges < values
    above = values.isnan() if x.dtype.is_floating_point else None
    if above is not None:
        below = below | (above & ~edges.isnan()) | (above if right else above & False)
    return below.to(dtypes["int64"]).sum(-1)


def bucketize(x, boundaries, out_int32, right):
    return searchsorted(boundaries, x, out_int32, right, None, None)


def mode(x, dim, keepdim):
    """The least of those met most often, at the last of its positions."""
    if not x.ndim:
        return x, filled((), 0, x).to(dtypes["int64"])
    dim %= x.ndim
    same = x.unsqueeze(dim) == x.unsqueeze(dim + 1)
    times = same.to(dtypes["int64"]).sum(dim)
    most = times == times.amax(dim, True)
    some = ops.where(most, x, lowest(x)).amax(dim, True)
    values = ops.where(most, x, some).amin(dim, True)
    shape = [1] * x.ndim
    shape[dim] = x.shape[dim]
    positions = ops.where(x == values, count(x, dim).reshape(shape), -1)
    indices = positions.amax(dim, True)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))
