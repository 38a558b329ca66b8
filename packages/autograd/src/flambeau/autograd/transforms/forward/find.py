"""Which way a definition's tangents take."""
from __future__ import annotations

from functools import cache

from flambeau.autograd._table import load_rules
from flambeau.autograd.transforms.forward.elementwise import elementwise_tangents
from flambeau.autograd.transforms.forward.linear import linear_tangents, product_tangents
from flambeau.autograd.transforms.forward.own import OWN
from flambeau.autograd.transforms.forward.twice import tangents_by_gradients
from flambeau.core import find_op

__all__ = ["can_move", "forward_way", "tangents_of"]


def _constant(op, primals, tangents, results):
    return (None,) * len(results)


#: By what the operator's definition says of its tangents; "rule" stands in ``OWN``.
_WAYS = {"none": _constant, "linear": linear_tangents, "product": product_tangents,
         "elementwise": elementwise_tangents, "gradient": tangents_by_gradients}


@cache
def _way_of(key: str):
    load_rules()
    way = find_op(key).jvp
    return OWN[key] if way == "rule" else _WAYS[way]


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
    found = _way_of(op.key)(op, primals, tangents, results)
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
        What its definition says: one of ``flambeau.core.opdefs.opdef.JVP``.

    Example:
        >>> forward_way("exp"), forward_way("cumsum"), forward_way("linalg_eigh")
        ('elementwise', 'linear', 'gradient')
    """
    return find_op(key).jvp
