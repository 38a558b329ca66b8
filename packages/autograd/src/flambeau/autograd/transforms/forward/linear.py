"""Operators that are linear by their definition, and products."""
from __future__ import annotations

from flambeau.autograd.transforms.stack import zeros_at_levels
from flambeau.core import Tensor, _core, ops

__all__ = ["linear_tangents", "product_tangents"]


def _zeros_like(value: Tensor) -> Tensor:
    return zeros_at_levels(value.shape, value)


def linear_tangents(op, primals, tangents, results):
    """The operator itself, of tangents; inputs without one count as zeros."""
    names, _ = op.linear_in
    if _moves_other(op, names, tangents):
        return None
    args = [_filled(value, tangent) if name in names else value
            for name, value, tangent in zip(op.params, primals, tangents, strict=True)]
    return (_core.call(op, args),)


def _moves_other(op, names, tangents) -> bool:
    """Whether another input has a tangent."""
    return any(t is not None and name not in names
               for name, t in zip(op.params, tangents, strict=True))


def _filled(value, tangent):
    """The tangent of an input, zeros where it has none, 0 of a number."""
    if isinstance(value, list):
        tangent = tangent or [None] * len(value)
        return [_zeros_like(v) if t is None else t for v, t in zip(value, tangent, strict=True)]
    if not isinstance(value, Tensor):
        return 0
    return tangent if tangent is not None else _zeros_like(value)


def product_tangents(op, primals, tangents, results):
    """One product for each factor that has a tangent."""
    factors, summand = op.linear_in
    at = {name: i for i, name in enumerate(op.params)}
    plain = list(primals)
    if summand:
        plain[at[summand]] = None
    total = None
    for name in factors:
        if tangents[at[name]] is not None:
            args = list(plain)
            args[at[name]] = tangents[at[name]]
            part = _core.call(op, args)
            total = part if total is None else ops.add(total, part)
    if summand and tangents[at[summand]] is not None:
        total = _with_summand(op, tangents[at[summand]], total, results[0])
    return (total,)


def _with_summand(op, part, total, result):
    """A bias belongs to the last dimension, of a convolution to the channels."""
    if op.key != "linear":
        spatial = int(op.key[4])
        part = part.reshape(-1, *[1] * spatial)
    return part.expand(result.shape) if total is None else ops.add(total, part)
