"""Copies, casts, fills."""
from flambeau.autograd._table import NAMES_BY_RANKS, rule
from flambeau.autograd.rules._help import sum_to_shape, zeros_like

# ---- copies: the engine casts and moves gradients back to the input's dtype and device ---------
rule("clone", self=lambda g: g)
rule("contiguous_copy", self=lambda g: g)
rule("cast", self=lambda g: g)
rule("to_device", self=lambda g: g)
rule("copy", self=lambda g: zeros_like(g), src=lambda g, src_shape: sum_to_shape(g, src_shape))
rule("fill", self=lambda g: zeros_like(g), value=lambda g: g.sum())
NAMES_BY_RANKS["fill"] = {(..., None): "FillBackward2", (..., ...): "FillBackward3"}
