"""Reading and writing by index."""
from __future__ import annotations

from flambeau.core import _core, ops
from flambeau.core.decompositions.shared import count, filled, scan, wide
from flambeau.core.dtypes import dtypes


def index_copy(x, dim, index, source):
    if not x.ndim:
        return source.reshape(())
    positions = [None] * (dim % x.ndim) + [index.reshape(-1)]
    return ops.index_put(x, positions, source.reshape(*x.shape[:dim % x.ndim], -1,
                                                   *x.shape[dim % x.ndim + 1:]))


def index_fill(x, dim, index, value):
    if not x.ndim:
        return ops.add(ops.mul(x, 0), value) if index.numel() else x
    if not _core.is_tensor(value):
        value = ops.full_of((), value, dtype=x.dtype, device=x.device)
    return ops.index_put(x, [None] * (dim % x.ndim) + [index.reshape(-1)], value.to(x.dtype))


def one_hot_rows(x, num_classes):
    classes = ops.arange_of(0, num_classes, 1, dtype=dtypes["int64"], device=x.device)
    return x.unsqueeze(-1) == classes


def embedding_lookup(weight, indices, padding_idx, scale_grad_by_freq):
    return ops.index(weight, [indices])


def masked_scatter(x, mask, source):
    shape = ops.where(mask, x, x).shape
    mask = mask.expand(shape).reshape(-1)
    if not source.numel():
        return x.expand(shape)
    positions = (mask.cumsum(0) - 1).clamp(0, source.numel() - 1)
    picked = ops.gather(source.reshape(-1), 0, positions)
    return ops.where(mask, picked, x.expand(shape).reshape(-1)).reshape(shape)


def isin_of(elements, tests):
    return (elements.unsqueeze(-1) == tests.reshape(-1)).any(-1)


# ---- scattering with other reductions ------------------------------------------------------------
_JOIN = {"prod": ops.mul, "amax": ops.maximum, "amin": ops.minimum}


def scatter_reduce(x, dim, index, src, reduce, include_self):
    if not x.ndim:
        x, index, src = x.reshape(1), index.reshape(-1), src.reshape(-1)
        return scatter_reduce(x, 0, index, src, reduce, include_self).reshape(())
    for d in range(x.ndim):
        src = src.narrow(d, 0, index.shape[d])
    if reduce in ("sum", "mean"):
        return _scatter_sum(x, dim, index, wide(src), reduce, include_self)
    return _scatter_joined(x, dim, index, src, _JOIN[reduce], include_self)


def _scatter_sum(x, dim, index, src, reduce, include_self):
    one = filled((), 1, x).to(dtypes["int64"])
    base, times = wide(x), one.expand(x.shape)
    if not include_self:
        base = ops.scatter(base, dim, index, filled((), 0, base).expand(index.shape))
        times = ops.scatter(times, dim, index, (one - 1).expand(index.shape))
    total = ops.scatter_add(base, dim, index, src)
    if reduce == "sum":
        return total
    times = ops.scatter_add(times, dim, index, one.expand(index.shape)).to(total.dtype)
    whole = not (x.dtype.is_floating_point or x.dtype.is_complex)
    return ops.div(total, times, rounding_mode="floor" if whole else None)


def _scatter_joined(x, dim, index, src, join, include_self):
    """Sources in order of their targets, joined along each run, of which the last is written."""
    if not index.numel():
        return x
    targets, order = ops.sort(index, dim, stable=True)
    src = wide(ops.gather(src, dim, order))

    def join_runs(before, after):
        same = before[1] == after[1]
        return [ops.where(same, join(before[0], after[0]), after[0]), after[1]]

    joined = scan([src, targets], dim, join_runs)[0]
    length = index.shape[dim]
    ends = targets.narrow(dim, 0, length - 1) != targets.narrow(dim, 1, length - 1)
    last = ops.cat([ends, filled((), 1, ends).expand(targets.narrow(dim, 0, 1).shape)], dim)
    base = wide(x)
    if include_self:
        joined = join(joined, ops.gather(base, dim, targets))
    spare = ops.where(last, targets, x.shape[dim])      # a row beyond the end takes all others
    roomy = ops.cat([base, base.narrow(dim, 0, 1)], dim)
    return ops.scatter(roomy, dim, spare, joined).narrow(dim, 0, x.shape[dim])


# ---- bags --------------------------------------------------------------------------------------
def _bags(indices, offsets, last_given, to_the_end):
    """The bag of each index, or -1 outside of all, and how many there are."""
    at, bags = count(indices, 0), offsets.shape[0] - int(last_given)
    found = ops.searchsorted(offsets.to(dtypes["int64"]), at, right=True) - 1
    outside = found < 0
    if last_given and not to_the_end:
        outside = outside | (found >= bags)
    return ops.where(outside, -1, found.clamp(0, max(bags - 1, 0))), bags


def embedding_bag_rows(weight, indices, offsets, factors, mode, last_given, padding, by_frequency):
    """Modes 0 to 2 are sums, means and maxima; rows of the padding index take no part."""
    to_the_end = weight.dtype == dtypes["float64"] or mode == 2 or padding >= 0
    bag, bags = _bags(indices, offsets, last_given, to_the_end)
    rows = wide(ops.index(weight, [indices]))
    rows = rows if factors is None else rows * wide(factors).unsqueeze(-1)
    kept = (indices != padding) & (bag >= 0)
    target = ops.where(kept, bag, bags)         # one more bag takes what is left out
    ones = filled((), 1, bag).to(dtypes["int64"]).expand(bag.shape)
    counts = ops.index_add(filled((bags + 1,), 0, ones), 0, target, ones)[:bags]
    empty = filled((bags + 1, weight.shape[1]), 0, rows)
    if mode < 2:
        out = ops.index_add(empty, 0, target, rows)[:bags]
        divisor = counts.clamp(1).to(rows.dtype).unsqueeze(-1) if mode else 1
        return out / divisor, bag, counts, bag[:0]
    wider = target.unsqueeze(-1).expand(rows.shape)
    out = scatter_reduce(empty, 0, wider, rows, "amax", False)
    is_best = rows == ops.gather(out, 0, wider)
    numbered = ops.where(is_best, count(indices, 0).unsqueeze(-1), indices.shape[0])
    first = filled(empty.shape, indices.shape[0], numbered)
    first = scatter_reduce(first, 0, wider, numbered, "amin", True)[:bags]
    has = counts.unsqueeze(-1) > 0
    chosen = ops.where(has, ops.index(indices, [ops.where(has, first, 0)]), -1)
    return ops.where(has, out[:bags], filled((), 0, out)), bag, counts, chosen
