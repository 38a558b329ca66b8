"""Which batching rule an operator has."""
from __future__ import annotations

from functools import cache

from flambeau.autograd.transforms.batching.dims import (
    by_dims,
    cat,
    flattened_best,
    flattened_median,
    reduction,
)
from flambeau.autograd.transforms.batching.folding import FOLD_RULES, images, samples
from flambeau.autograd.transforms.batching.indexing import INDEX_RULES
from flambeau.autograd.transforms.batching.layers import LAYER_RULES
from flambeau.autograd.transforms.batching.loop import loop
from flambeau.autograd.transforms.batching.masks import masked_scatter, masked_select, refuse
from flambeau.autograd.transforms.batching.pointwise import pointwise
from flambeau.autograd.transforms.batching.products import linear, matmul, narrow_linear
from flambeau.autograd.transforms.batching.recurrent import RECURRENT_RULES
from flambeau.autograd.transforms.batching.stacks import STACK_RULES, in_front
from flambeau.autograd.transforms.batching.views import VIEW_RULES
from flambeau.core import find_op

__all__ = ["batch_way", "find_batch_rule"]

#: By what the operator's definition says of its batching; "rule" stands in the table below.
_WAYS = {"pointwise": pointwise, "reduction": reduction, "dims": by_dims, "stack": in_front,
         "samples": samples, "images": images, "loop": loop, "refused": refuse}

_RULES = {
    **VIEW_RULES, **INDEX_RULES, **FOLD_RULES, **LAYER_RULES, **STACK_RULES,
    **RECURRENT_RULES,
    "cat": cat, "matmul": matmul, "wide_product": matmul, "linear": linear,
    "quantized_linear": narrow_linear,
    "weight_only_linear": narrow_linear,
    "argmax": flattened_best, "argmin": flattened_best,
    "median": flattened_median, "nanmedian": flattened_median,
    "masked_select": masked_select, "masked_scatter": masked_scatter,
}


def find_batch_rule(op):
    """The batching rule of a definition.

    Args:
        op: the definition's handle.

    Returns:
        A function ``(level, op, args, flags, seen)``; see ``basics``.
    """
    return _rule_of(op.key)


@cache
def _rule_of(key: str):
    way = find_op(key).batching
    return _RULES[key] if way == "rule" else _WAYS[way]


def batch_way(key: str) -> str:
    """How a definition runs under vmap.

    Args:
        key: the operator, ``name`` or ``name.overload``.

    Returns:
        What its definition says: one of ``flambeau.core.opdefs.opdef.BATCHING``.

    Example:
        >>> batch_way("exp"), batch_way("conv2d"), batch_way("nonzero")
        ('pointwise', 'rule', 'refused')
    """
    return find_op(key).batching
