"""Pointwise operators: the gradient rule of each operand, applied to its tangent.

Their Jacobian is diagonal, so that multiplying by it and by its transpose is the same. Of complex
numbers the transpose is conjugated; those go the general way.
"""
from __future__ import annotations

from functools import cache

from flambeau.autograd._derived import derived_calls
from flambeau.autograd._table import find_rule
from flambeau.core import Tensor, _core, ops, row

__all__ = ["elementwise_tangents"]


@cache
def _calls_of(key: str):
    calls = find_rule(key)
    if calls is not None:
        return calls
    names = [p.name for p in row(key).params]
    return derived_calls(key, names, [p.name for p in row(key).params
                                      if p.role in ("Tensor", "Operand")])


def elementwise_tangents(op, primals, tangents, results):
    """The sum over operands; None where numbers are complex, or a rule is for several operands."""
    calls = _calls_of(op.key)
    if calls is None or any(len(inputs) > 1 for inputs, _ in calls):
        return None
    if any(isinstance(v, Tensor) and v.is_complex() for v in (*primals, *results)):
        return None
    result, total = results[0], None
    rules = {inputs[0]: target for inputs, target in calls}
    for name, tangent in zip(op.params, tangents, strict=True):
        if tangent is None or name not in rules:
            continue
        part = _applied(op, rules[name], tangent, primals, results)
        if part is None:
            continue
        total = part if total is None else ops.add(total, part)
    if total is None:
        return (None,) * len(results)
    if total.dtype is not result.dtype:
        total = total.to(result.dtype)
    if total.shape != result.shape:
        total = total.expand(result.shape)
    return (total,) + (None,) * (len(results) - 1)


def _applied(op, target, tangent, primals, results):
    """A rule, or a derived definition, with the tangent instead of the gradient."""
    if isinstance(target, tuple):
        key, renamed = target
        names = _core.find_op(key).params[1:]
        return _core.call(key, [tangent] + [_argument(op, renamed.get(n, n), primals, results)
                                            for n in names])
    code = target.__code__
    names = code.co_varnames[:code.co_argcount]
    return target(*[tangent if n in ("g", "grads") else _argument(op, n, primals, results)
                    for n in names])


def _argument(op, name, primals, results):
    """What a rule's parameter asks for."""
    if name in op.params:
        return primals[op.params.index(name)]
    if name.startswith("result"):
        return results[int(name[6:] or "0")]
    value, _, fact = name.rpartition("_")
    return getattr(primals[op.params.index(value)], fact)
