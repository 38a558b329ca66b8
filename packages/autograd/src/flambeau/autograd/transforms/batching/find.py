"""Which batching rule an operator has."""
from __future__ import annotations

from functools import cache

from flambeau.autograd.transforms.batching.dims import (
    DIM_ROWS,
    by_dims,
    cat,
    flattened_best,
    flattened_median,
    reduction,
)
from flambeau.autograd.transforms.batching.folding import FOLD_RULES
from flambeau.autograd.transforms.batching.layers import LAYER_RULES
from flambeau.autograd.transforms.batching.loop import loop
from flambeau.autograd.transforms.batching.masks import masked_scatter, masked_select, refuse
from flambeau.autograd.transforms.batching.places import PLACE_RULES
from flambeau.autograd.transforms.batching.pointwise import pointwise
from flambeau.autograd.transforms.batching.products import linear, matmul
from flambeau.autograd.transforms.batching.random import RANDOM
from flambeau.autograd.transforms.batching.recurrent import RECURRENT_RULES
from flambeau.autograd.transforms.batching.stacks import STACK_RULES
from flambeau.autograd.transforms.batching.views import VIEW_RULES
from flambeau.autograd.transforms.elements import is_like_pointwise
from flambeau.core import find_op

__all__ = ["batch_way", "find_batch_rule"]

_DATA_DEPENDENT = ("nonzero",)

_OWN = {
    **VIEW_RULES, **PLACE_RULES, **FOLD_RULES, **LAYER_RULES, **STACK_RULES,
    **RECURRENT_RULES,
    "cat": cat, "matmul": matmul, "linear": linear,
    "argmax": flattened_best, "argmin": flattened_best,
    "median": flattened_median, "nanmedian": flattened_median,
    "masked_select": masked_select, "masked_scatter": masked_scatter,
}


@cache
def _found(key: str):
    """The way of an operator, and its rule."""
    if key in _DATA_DEPENDENT:
        return "refused", refuse
    if key in _OWN:
        return "own rule", _OWN[key]
    if key in DIM_ROWS:
        return "dims", by_dims
    category = find_op(key).category
    if category == "pointwise" or is_like_pointwise(key):
        return "pointwise", pointwise
    if category == "reduction":
        return "dims", reduction
    return "loop", loop


def find_batch_rule(op):
    """The batching rule of a definition.

    Args:
        op: the definition's handle.

    Returns:
        A function ``(level, op, args, flags, seen)``; see ``basics``.
    """
    return _found(op.key)[1]


def batch_way(key: str) -> str:
    """How a definition runs under vmap.

    Args:
        key: the operator, ``name`` or ``name.overload``.

    Returns:
        ``"pointwise"``, ``"dims"``, ``"own rule"``, ``"random"``, ``"loop"``, ``"refused"``,
        ``"no tensors"`` or ``"composite"``.

    Example:
        >>> batch_way("exp"), batch_way("conv2d"), batch_way("nonzero")
        ('pointwise', 'own rule', 'refused')
    """
    from flambeau.core import row

    if row(key).category == "composite":
        return "composite"
    if key in RANDOM:
        return "random"
    if not any(p.role in ("Tensor", "Operand", "Tensors") for p in row(key).params):
        return "no tensors"
    return _found(key)[0]
