"""Copies, casts, joins and rearrangements."""
from flambeau.autograd._table import NAMES_BY_RANKS, rule
from flambeau.autograd.rules._help import sum_to_shape, zeros, zeros_like

# ---- copies: the engine casts and moves gradients back to the input's dtype and device ---------
rule("clone", self=lambda g: g)
rule("contiguous_copy", self=lambda g: g)
rule("cast", self=lambda g: g)
rule("to_device", self=lambda g: g)
rule("copy", self=lambda g: zeros_like(g), src=lambda g, src_shape: sum_to_shape(g, src_shape))
rule("fill", self=lambda g: zeros_like(g), value=lambda g: g.sum())
NAMES_BY_RANKS["fill"] = {(..., None): "FillBackward2", (..., ...): "FillBackward3"}

# ---- rearrangements ----------------------------------------------------------------------------
rule("flip", self=lambda g, dims: g.flip(dims))
rule("tril", self=lambda g, diagonal: g.tril(diagonal))
rule("triu", self=lambda g, diagonal: g.triu(diagonal))


# ---- joins -------------------------------------------------------------------------------------
def _cat(g, tensors_shape, dim, needs):
    """Slices of the gradient, one per tensor; empty 1-d tensors took no room."""
    grads: list = []
    start = 0
    for shape, needed in zip(tensors_shape, needs, strict=True):
        if shape == (0,):
            grads.append(zeros(shape, g))
            continue
        grads.append(g.narrow(dim, start, shape[dim]) if needed else None)
        start += shape[dim]
    return grads


rule("cat", tensors=_cat)
