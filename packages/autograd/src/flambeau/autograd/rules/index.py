"""Indexing, gathering, scattering, embedding."""
import flambeau
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import scaled, sum_to_shape, zeros
from flambeau.core import ops
from flambeau.core.decompositions.shared import wide

_BAG_MAX = 2

# ---- along a dimension -------------------------------------------------------------------------
rule("index_select", self=lambda g, self_shape, dim, index:
     zeros(self_shape, g).index_add_(dim, index, g))
rule("index_add",
     self=lambda g: g,
     source=lambda g, source_shape, dim, index, alpha:
         scaled(g.index_select(dim, index), alpha).expand(source_shape))
rule("gather", self=lambda g, self_shape, dim, index:
     zeros(self_shape, g).scatter_add_(dim, index, g))
rule("scatter_add",
     self=lambda g: g,
     src=lambda g, src_shape, dim, index: _from_positions(g, src_shape, dim, index))
rule("scatter.src",
     self=lambda g, dim, index: ops.scatter(g, dim, index, 0),
     src=lambda g, src_shape, dim, index: _from_positions(g, src_shape, dim, index))
rule("scatter.value", self=lambda g, dim, index: ops.scatter(g, dim, index, 0))


def _from_positions(g, src_shape, dim, index):
    """What was scattered comes back; a source larger than the index was read in part."""
    picked = g.gather(dim, index)
    if picked.shape == src_shape:
        return picked
    whole = zeros(src_shape, g)
    part = whole
    for d, n in enumerate(picked.shape):
        part = part.narrow(d, 0, n)
    ops.copy_(part, picked)
    return whole


# ---- several dimensions at once ----------------------------------------------------------------
rule("index", self=lambda g, self_shape, indices:
     zeros(self_shape, g).index_put_(indices, g, accumulate=True))
rule("index_put",
     self=lambda g, indices, accumulate:
         g if accumulate else ops.index_put(g, indices, zeros((), g)),
     values=lambda g, indices, values_shape: sum_to_shape(ops.index(g, indices), values_shape))


# ---- masks -------------------------------------------------------------------------------------
def _masked_select(g, self_shape, mask):
    """The gradient where the mask holds, in its order."""
    shape = _broadcast(self_shape, mask.shape)
    return sum_to_shape(zeros(shape, g).masked_scatter_(mask, g), self_shape)


def _broadcast(a, b):
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    return tuple([y if x == 1 else x for x, y in zip(a, b, strict=True)])


rule("masked_select", self=_masked_select)


def _spread_source(g, source_shape, mask):
    """What was taken from the front of the source comes back in its order."""
    mask = mask.expand(g.shape).reshape(-1)
    positions = (mask.cumsum(0) - 1).clamp_min(0)
    taken = ops.where(mask, g.reshape(-1), 0)
    whole = zeros((_count(source_shape),), g)
    return ops.scatter_add(whole, 0, positions, taken).reshape(source_shape) if whole.numel() else \
        whole.reshape(source_shape)


def _count(shape):
    count = 1
    for n in shape:
        count *= n
    return count


def _unmasked(g, self_shape, mask):
    kept = g.masked_fill(mask.expand(_broadcast(self_shape, mask.shape)), 0)
    return sum_to_shape(kept, self_shape)


rule("masked_scatter", self=_unmasked, source=_spread_source)

# ---- whole slices ------------------------------------------------------------------------------
rule("index_copy",
     self=lambda g, dim, index: ops.index_fill(g, dim, index, 0),
     source=lambda g, source_shape, dim, index:
         g.index_select(dim, index).reshape(source_shape))
rule("index_fill",
     self=lambda g, dim, index: ops.index_fill(g, dim, index, 0),
     value=lambda g, dim, index: _touched(g, dim, index).sum())


def _touched(g, dim, index):
    """The slices that an index names, each once, and zeros."""
    others = ops.index_fill(ops.full_of(g.shape, True, device=g.device), dim, index, False)
    return g.masked_fill(others, 0)


# ---- reductions at indices ---------------------------------------------------------------------
def _zero_at(g, dim, index):
    return ops.scatter(g, dim, index, 0)


def _aligned(src, index):
    """The part of the source that the index names."""
    for d, n in enumerate(index.shape):
        src = src.narrow(d, 0, n)
    return src


def _ones(index, like):
    return ops.full_of(index.shape, 1, dtype=like.dtype, device=like.device)


def _mean(g, self, src_shape, dim, index, include_self):
    start = ops.full_of(self.shape, int(include_self), dtype=g.dtype, device=g.device)
    count = start.scatter_add(dim, index, _ones(index, g))
    share = g / count.masked_fill(count == 0, 1)
    return (share if include_self else _zero_at(g, dim, index),
            _from_positions(share, src_shape, dim, index))


def _prod(g, self, src, dim, index, include_self, result):
    """The product of all others: by division, or without the only zero, or the only NaN."""
    part = _aligned(src, index)
    without = self.masked_fill(self == 0, 1)
    others = without.scatter_reduce(dim, index, src, "prod", include_self=include_self)
    self_grad = g * _conj(others / without)
    if not include_self:
        self_grad = _zero_at(g, dim, index)
    zero = (part == 0) | part.isnan()
    zeros_there = zeros(self.shape, g).scatter_add(dim, index, zero.to(g.dtype))
    single = zero & (zeros_there.gather(dim, index) == 1)
    partial = self.scatter_reduce(dim, index, part.masked_fill(single, 1), "prod",
                                  include_self=include_self)
    by_zero = (g * _conj(partial)).gather(dim, index)
    by_rest = (g * _conj(result)).gather(dim, index) / _conj(part.masked_fill(zero, 1))
    return self_grad, _padded(ops.where(single, by_zero, by_rest), src.shape, g)


def _conj(x):
    return x.conj() if x.is_complex() else x


def _padded(part, shape, g):
    if part.shape == shape:
        return part
    whole = zeros(shape, g)
    target = whole
    for d, n in enumerate(part.shape):
        target = target.narrow(d, 0, n)
    ops.copy_(target, part)
    return whole


def _extreme(g, self, src, dim, index, include_self, result):
    """Shared evenly among those that equal the result."""
    part = _aligned(src, index)
    from_src = (part == result.gather(dim, index)).to(g.dtype)
    from_self = (self == result).to(g.dtype)
    if not include_self:
        from_self = _zero_at(from_self, dim, index)
    count = from_self.scatter_add(dim, index, from_src)
    share = g / count.masked_fill(count == 0, float("nan"))     # where the result is NaN
    return share * from_self, _padded(share.gather(dim, index) * from_src, src.shape, g)


def _scatter_reduce(g, self, src, dim, index, reduce, include_self, result):
    if reduce == "sum":
        return (g if include_self else _zero_at(g, dim, index),
                _from_positions(g, src.shape, dim, index))
    if reduce == "mean":
        return _mean(g, self, src.shape, dim, index, include_self)
    if reduce == "prod":
        return _prod(g, self, src, dim, index, include_self, result)
    return _extreme(g, self, src, dim, index, include_self, result)


rule("scatter_reduce", ("self", "src"), _scatter_reduce)

# ---- embedding ---------------------------------------------------------------------------------
rule("embedding_lookup", weight=lambda g, weight_shape, indices, padding_idx, scale_grad_by_freq:
     ops.embedding_grad(g / _times_looked_up(indices, weight_shape[0]) if scale_grad_by_freq else g,
                        indices, weight_shape[0], padding_idx))
rule("embedding_grad", grad=lambda g, indices, padding_idx:
     _lookup(g, indices, padding_idx))


def _lookup(g, indices, padding_idx):
    rows = ops.embedding_lookup(g, indices)
    if padding_idx < 0:
        return rows
    return ops.where((indices == padding_idx).unsqueeze(-1), 0, rows)


def _times_looked_up(indices, rows):
    """For each index, how often it occurs; a last dimension of 1 is added."""
    positions = indices.reshape(-1)
    ones = ops.ones_like(positions, dtype=flambeau.int64)
    counts = ops.full_of((rows,), 0, dtype=flambeau.int64, device=indices.device)
    return counts.index_add(0, positions, ones)[indices].unsqueeze(-1)


# ---- bags of embeddings ------------------------------------------------------------------------
def _bag_table(g, weight_shape, indices, per_sample_weights, mode, padding_idx,
               scale_grad_by_freq, result1, result2, result3):
    if mode == _BAG_MAX:
        found = ops.where(result3 < 0, 0, g)
        return zeros(weight_shape, g).scatter_add(0, result3.clamp_min(0), found)
    rows = _bag_rows(g, mode, result1, result2)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if scale_grad_by_freq:
        rows = rows / _times_looked_up(indices, weight_shape[0])
    return ops.embedding_grad(rows, indices, weight_shape[0], padding_idx)


def _bag_rows(g, mode, bags, counts):
    """The gradient of each looked up row; those in no bag get none."""
    if mode == 1:
        g = (wide(g) / counts.clamp_min(1).unsqueeze(-1)).to(g.dtype)
    if not g.shape[0]:
        return zeros((*bags.shape, g.shape[1]), g)
    return ops.where((bags < 0).unsqueeze(-1), 0, g.index_select(0, bags.clamp_min(0)))


def _bag_factors(g, weight, indices, mode, padding_idx, result1, result2):
    rows = _bag_rows(g, mode, result1, result2)
    factors = (rows * ops.embedding_lookup(weight, indices)).sum(-1)
    return factors if padding_idx < 0 else ops.where(indices == padding_idx, 0, factors)


rule("embedding_bag_rows", weight=_bag_table, per_sample_weights=_bag_factors)
