"""Operators made of a formula, such as an optimizer's update, as calls of arithmetic.

For classes with a ``__torch_dispatch__``, which know arithmetic and not this library's updates.
"""
from __future__ import annotations

import functools
import operator
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core.register import definition


def formula_results(op: Any, args: list[Any]) -> list[Any] | None:
    """The results of a registered operator, by arithmetic; None where it has no such formula."""
    numbers = [each for each in args if isinstance(each, Tensor)]
    if op.category != "pointwise" or not all(each.is_floating_point() for each in numbers):
        return None     # formulas of integers and complex numbers are others
    exprs = _formulas(op.key)
    if exprs is None:
        return None
    from flambeau.core.formula.expr import postorder

    named = dict(zip(op.params, args, strict=True))
    values: dict[Any, Any] = {}
    for node in postorder(exprs):
        inner = [values[arg] for arg in node.args]
        if inner and not any(isinstance(each, Tensor) for each in inner):
            if node.op not in _OF_NUMBERS:
                return None
            values[node] = _OF_NUMBERS[node.op](*inner)
        else:
            values[node] = _value(node, named, inner)
    return [_as_result(values[expr], numbers) for expr in exprs]


def _as_result(value: Any, tensors: list[Any]) -> Any:
    """What a formula gives, in the shape of its operands, of which it may use some or none."""
    shape = flambeau.broadcast_shapes(*[each.shape for each in tensors])
    if isinstance(value, Tensor):
        return value if value.shape == shape else value.expand(shape).clone()
    dtype = functools.reduce(flambeau.promote_types, [each.dtype for each in tensors])
    return flambeau.full(shape, value, dtype=dtype, device=tensors[0].device)


@functools.cache
def _formulas(key: str) -> tuple[Any, ...] | None:
    from flambeau.core.formula import parse
    from flambeau.core.formula.expr import LEAVES, postorder

    found = definition(key)
    text = found.formulas.get("float")
    if text is None:
        return None
    names = [p.name for p in found.operands], [p.name for p in found.scalars]
    exprs: tuple[Any, ...] = parse(text, *names)
    known = all(node.op in LEAVES or node.op in _ARITHMETIC or hasattr(Tensor, node.op)
                for node in postorder(exprs))
    return exprs if known else None


def _fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` in as few calls as a tensor has for it."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Tensor) and isinstance(c, Tensor) and not isinstance(y, Tensor):
            return flambeau.add(c, x, alpha=y)
    return flambeau.addcmul(c, a, b) if all(isinstance(x, Tensor) for x in (a, b, c)) \
        else a * b + c


def _bounded(a: Any, b: Any, both: Any, one: str) -> Any:
    """The greater, or the lesser, of two, one of which may be a number."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return both(a, b)
    x, bound = (a, b) if isinstance(a, Tensor) else (b, a)
    return flambeau.clamp(x, **{one: bound})


_ARITHMETIC: dict[str, Any] = {
    "maximum": lambda a, b: _bounded(a, b, flambeau.maximum, "min"),
    "minimum": lambda a, b: _bounded(a, b, flambeau.minimum, "max"),
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "neg": lambda a: -a, "fma": _fma,
    "select": lambda condition, a, b: flambeau.where(condition, a, b) if isinstance(
        condition, Tensor) else a if condition else b}


#: What formulas compute with numbers alone.
_OF_NUMBERS: dict[str, Any] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "abs": abs,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
    "ne": operator.ne}


def _value(node: Any, named: dict[str, Any], inner: list[Any]) -> Any:
    if node.op == "const":
        return node.value
    if not node.args:
        return named[node.value]
    function = _ARITHMETIC.get(node.op) or getattr(flambeau, node.op)
    return function(*inner)
