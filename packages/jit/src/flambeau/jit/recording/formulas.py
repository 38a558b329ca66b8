"""Numbers that Python computed from sizes, evaluated for other sizes and written as operators."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from flambeau.jit.dims import Dim, Size
from flambeau.jit.ir import Node, Value
from flambeau.jit.literals import DType
from flambeau.jit.recording.traced_sizes import Traced, plain

#: Gives the size of a recorded value, for all recordings.
SizeOf = Callable[[Value, int], Size]

#: Python's methods with the operator that computes the same.
_BINARY = {"add": ("add", operator.add), "sub": ("sub", operator.sub), "mul": ("mul", operator.mul),
           "truediv": ("div", operator.truediv), "floordiv": ("floor_divide", operator.floordiv),
           "mod": ("remainder", operator.mod), "pow": ("pow", operator.pow)}
_UNARY: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "neg": ("neg", operator.neg), "abs": ("abs", abs), "floor": ("floor", math.floor),
    "ceil": ("ceil", math.ceil), "trunc": ("trunc", math.trunc), "round": ("round", round)}
_TO_INTEGERS = ("floor", "ceil", "trunc", "round")


class Unknown(Exception):
    """A number has no form over the sizes that are known."""


def evaluate(number: Any, size_of: SizeOf, sizes: Mapping[str, int]) -> Any:
    """A number for given sizes.

    Raises:
        Unknown: it depends on something else, or cannot be computed for these sizes.
    """
    if not isinstance(number, Traced):
        return number
    if number.formula is None:
        return math.prod(size.evaluate(sizes) if isinstance(size, Dim) else size
                         for size in (size_of(*source) for source in number.sources))
    name, *operands = _parts(number.formula)
    values = [evaluate(each, size_of, sizes) for each in operands]
    try:
        return (_BINARY[name] if len(values) == 2 else _UNARY[name])[1](*values)
    except (ArithmeticError, ValueError):
        raise Unknown from None


def _parts(formula: tuple[Any, ...]) -> tuple[Any, ...]:
    """The name of an operation without underscores, and its operands in order."""
    method, one, other = formula
    name = method.strip("_")
    if name in _UNARY and other is None:
        return name, one
    if name in _BINARY:
        return name, one, other
    if name[1:] in _BINARY:
        return name[1:], other, one
    raise Unknown


def written(number: Traced, size_of: SizeOf) -> list[Node]:
    """Nodes that compute an integer as a tensor, the last one's result.

    Raises:
        Unknown: it depends on something else.
    """
    writer = _Writer(size_of)
    writer.cast(writer.value(number), "int64")
    return writer.nodes


class _Writer:
    def __init__(self, size_of: SizeOf) -> None:
        self.size_of = size_of
        self.nodes: list[Node] = []

    def add(self, op: str, args: tuple[Any, ...], dtype: str) -> Value:
        result = Value((), dtype)
        self.nodes.append(Node(op, args, (result,)))
        return result

    def constant(self, number: Any) -> Value:
        dtype = "float64" if isinstance(number, float) else "int64"
        return self.add("full_of", ((), number, DType(dtype), None), dtype)

    def cast(self, value: Value, dtype: str) -> Value:
        same = value.dtype == dtype and self.nodes[-1].outputs == (value,)
        return value if same else self.add("cast", (value, DType(dtype)), dtype)

    def value(self, number: Any) -> Value:
        if not isinstance(number, Traced):
            return self.constant(number)
        if number.formula is None:
            first, *others = [self.constant(self.size_of(*each)) for each in number.sources] or [
                self.constant(plain(number))]
            for other in others:
                first = self.add("mul", (first, other), "int64")
            return first
        name, *operands = _parts(number.formula)
        return self.binary(name, *operands) if len(operands) == 2 else self.unary(name, *operands)

    def unary(self, name: str, operand: Any) -> Value:
        value = self.value(operand)
        if value.dtype == "int64" and name in _TO_INTEGERS:
            return value
        made = self.add(_UNARY[name][0], (value,), value.dtype)
        return self.cast(made, "int64") if name in _TO_INTEGERS else made

    def binary(self, name: str, one: Any, other: Any) -> Value:
        values = [self.value(one), self.value(other)]
        dtype = "float64" if name == "truediv" or any(
            value.dtype == "float64" for value in values) else "int64"
        values = [value if value.dtype == dtype else self.cast(value, dtype) for value in values]
        scale = (1,) if name in ("add", "sub") else ()
        return self.add(_BINARY[name][0], (*values, *scale), dtype)
