"""Gathering and scattering."""
from flambeau.autograd._table import rule
from flambeau.autograd.rules._help import scaled, sum_to_shape, zeros
from flambeau.core import ops

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
     src=lambda g, src_shape, dim, index: _from_places(g, src_shape, dim, index))
rule("scatter.src",
     self=lambda g, dim, index: ops.scatter(g, dim, index, 0),
     src=lambda g, src_shape, dim, index: _from_places(g, src_shape, dim, index))
rule("scatter.value", self=lambda g, dim, index: ops.scatter(g, dim, index, 0))


def _from_places(g, src_shape, dim, index):
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
    """The gradient at the places of the mask, in its order."""
    shape = _broadcast(self_shape, mask.shape)
    places = mask.expand(shape).nonzero().unbind(1)
    whole = zeros(shape, g)
    if not shape:
        return whole + g.sum()
    return sum_to_shape(whole.index_put_(places, g, accumulate=True), self_shape)


def _broadcast(a, b):
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    return tuple([y if x == 1 else x for x, y in zip(a, b, strict=True)])


rule("masked_select", self=_masked_select)
