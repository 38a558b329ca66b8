"""Writing by position with a fold, masks that spread, borders."""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import sum_to_shape, zeros
from flambeau.autograd.rules.indexing import _broadcast, _from_places
from flambeau.core import ops

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


# ---- masks -------------------------------------------------------------------------------------
def _spread_source(g, source_shape, mask):
    """What was taken from the front of the source comes back in its order."""
    mask = mask.expand(g.shape).reshape(-1)
    places = (mask.cumsum(0) - 1).clamp_min(0)
    taken = ops.where(mask, g.reshape(-1), 0)
    whole = zeros((_count(source_shape),), g)
    return ops.scatter_add(whole, 0, places, taken).reshape(source_shape) if whole.numel() else \
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


# ---- folds at places ---------------------------------------------------------------------------
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
            _from_places(share, src_shape, dim, index))


def _prod(g, self, src, dim, index, include_self, result):
    """The product of all others: by division, or without the only zero."""
    part = _aligned(src, index)
    without = self.masked_fill(self == 0, 1)
    others = without.scatter_reduce(dim, index, src, "prod", include_self=include_self)
    self_grad = g * _conj(others / without)
    if not include_self:
        self_grad = _zero_at(g, dim, index)
    zero = part == 0
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
    place = whole
    for d, n in enumerate(part.shape):
        place = place.narrow(d, 0, n)
    ops.copy_(place, part)
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
                _from_places(g, src.shape, dim, index))
    if reduce == "mean":
        return _mean(g, self, src.shape, dim, index, include_self)
    if reduce == "prod":
        return _prod(g, self, src, dim, index, include_self, result)
    return _extreme(g, self, src, dim, index, include_self, result)


rule("scatter_reduce", ("self", "src"), _scatter_reduce)

# ---- borders -----------------------------------------------------------------------------------
rule("constant_pad_nd", self=lambda g, pad:
     ops.constant_pad_nd(g, [-n for n in pad]))
rule("pad_by", self=lambda g, self_shape, pad, mode: ops.pad_by_grad(g, pad, mode, self_shape))
rule("pad_by_grad", grad=lambda g, pad, mode: ops.pad_by(g, pad, mode))
