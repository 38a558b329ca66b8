"""Which way a definition's tangents take."""
from __future__ import annotations

from functools import cache

from flambeau.autograd._table import NO_DERIVATIVE, load_rules
from flambeau.autograd.transforms.forward.elementwise import elementwise_tangents, is_elementwise
from flambeau.autograd.transforms.forward.linear import (
    LINEAR,
    PRODUCTS,
    linear_tangents,
    product_tangents,
)
from flambeau.autograd.transforms.forward.own import OWN
from flambeau.autograd.transforms.forward.twice import tangents_by_gradients
from flambeau.core import find_op

__all__ = ["can_move", "forward_way", "tangents_of"]


def _constant(op, primals, tangents, results):
    return (None,) * len(results)


@cache
def _found(key: str):
    load_rules()
    op = find_op(key)
    if key in NO_DERIVATIVE:
        return "none", _constant
    if key in OWN:
        return "own", OWN[key]
    if key in LINEAR:
        return "linear", linear_tangents
    if key in PRODUCTS:
        return "product", product_tangents
    if is_elementwise(op):
        return "elementwise", elementwise_tangents
    return "gradient", tangents_by_gradients


def tangents_of(op, primals, tangents, results) -> tuple:
    """Tangents of an operator's results.

    Args:
        op: the definition's handle.
        primals: its arguments, one level below.
        tangents: one per argument: None, or for a list of tensors a list with None.
        results: its results.

    Returns:
        One tangent per result; None for results that do not move.
    """
    found = _found(op.key)[1](op, primals, tangents, results)
    if found is None:
        found = tangents_by_gradients(op, primals, tangents, results)
    return tuple([t if can_move(r) else None for r, t in zip(results, found, strict=True)])


def can_move(value) -> bool:
    """Whether a tensor may have a tangent; integers stand still, converted numbers among them."""
    return value.is_floating_point() or value.is_complex()


def forward_way(key: str) -> str:
    """How a definition's tangents are computed.

    Args:
        key: the operator, ``name`` or ``name.overload``.

    Returns:
        ``"elementwise"``, ``"linear"``, ``"product"``, ``"own"``, ``"gradient"`` (the derivative
        of its gradient), ``"none"`` or ``"composite"``.

    Example:
        >>> forward_way("exp"), forward_way("cumsum"), forward_way("linalg_eigh")
        ('elementwise', 'linear', 'gradient')
    """
    return "composite" if find_op(key).category == "composite" else _found(key)[0]
