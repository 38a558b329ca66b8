"""Operators of packages as built-in ones, by their formulas: for files, which outlive packages.

An operator that ``register_op`` made is written as the arithmetic of its formula, where that gives
the same bits: for float32 and float64, of which every operation of a formula is an operator, in the
same precision. It is tried on numbers before it is relied on. What has no such formula keeps its
name in the file, and needs its package where the file is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flambeau.core.formula import parse
from flambeau.core.formula.expr import Expr, postorder
from flambeau.core.opdefs import OpDef
from flambeau.jit import bridge
from flambeau.jit.interpreter import run_operator
from flambeau.jit.ir import Graph, Node, Value, map_args, rename
from flambeau.jit.opset import find_opdef, of_a_package

#: Operations of formulas whose operator has another name.
_NAMES = {"select": "where", "and": "logical_and", "or": "logical_or", "not": "logical_not",
          "floordiv": "floor_divide"}
#: Comparisons with the sides exchanged, for a number on the left.
_EXCHANGED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_BOOLEAN = {*_EXCHANGED, "and", "or", "not"}
#: What an expansion is tried on; every pair of them where there are two operands.
_SAMPLES = (0.0, -0.0, 1.0, -1.0, 0.1, -0.7, 3.0, 17.25, -123.4, 1e-30, 3e38, 1e-45, math.inf,
            -math.inf, math.nan)


def expand(graph: Graph) -> Graph:
    """The graph with expanded nodes; the same graph where there is nothing to expand."""
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.body is not None:
            body = expand(node.body)
            nodes.append(node if body is node.body else replace(node, body=body))
        else:
            nodes += _expanded(node) or [node]
    same = len(nodes) == len(graph.nodes) and all(map(_is, nodes, graph.nodes))
    return graph if same else replace(graph, nodes=nodes)


def _is(one: object, other: object) -> bool:
    return one is other


def _expanded(node: Node) -> list[Node] | None:
    opdef = of_a_package(node.op)
    if opdef is None or node.into or any(param.writes for param in opdef.params):
        return None
    if not isinstance(text := opdef.formulas.get("float"), str):
        return None
    names = [p.name for p in opdef.operands], [p.name for p in opdef.scalars]
    try:
        expansion = _Expansion(opdef, node, parse(text, *names))
    except _CannotExpand:
        return None
    return expansion.nodes if expansion.is_exact() else None


class _CannotExpand(Exception):
    """There is no operator for a part of the formula, or not of the operands' dtype."""


class _Expansion:
    """The nodes that compute what one node does."""

    def __init__(self, opdef: OpDef, node: Node, exprs: Sequence[Expr]) -> None:
        self.node = node
        self.nodes: list[Node] = []
        self.named = {p.name: arg for p, arg in zip(opdef.params, node.args, strict=True)}
        masks = {p.name for p in opdef.params if p.role == "Mask"}
        dtypes = {arg.dtype for name, arg in self.named.items()
                  if isinstance(arg, Value) and name not in masks}
        if dtypes not in ({"float32"}, {"float64"}):
            raise _CannotExpand
        (self.dtype,) = dtypes
        made: dict[Expr, Any] = {}
        for expr in postorder(exprs):
            made[expr] = self.value(expr, [made[arg] for arg in expr.args])
        self.rename([made[expr] for expr in exprs])

    def value(self, expr: Expr, args: list[Any]) -> Any:
        """A value, or a number, for a part of the formula."""
        if expr.op == "const":
            return expr.value
        if not expr.args:
            return self.named[str(expr.value)]
        name = expr.op
        if not any(isinstance(arg, Value) for arg in args):
            return self.number(name, args)
        if name in _EXCHANGED and not isinstance(args[0], Value):
            name, args = _EXCHANGED[name], args[::-1]
        return self.apply(_NAMES.get(name, name), args, "bool" if expr.op in _BOOLEAN else "")

    def number(self, name: str, args: list[Any]) -> float:
        """Of numbers alone, which have the operands' precision."""
        if name not in ("add", "sub", "mul", "div", "neg") or not all(
                isinstance(arg, float | int) for arg in args):
            raise _CannotExpand
        tensors = [bridge.from_numbers([arg], self.dtype) for arg in args]
        more = [1] if name in ("add", "sub") else []
        return float(run_operator(name, [*tensors, *more])[0].item())

    def apply(self, key: str, args: list[Any], dtype: str) -> Value:
        """A node of a built-in operator."""
        opdef = find_opdef(key)
        if opdef is None or of_a_package(key) or opdef.category != "pointwise":
            raise _CannotExpand
        rest = opdef.params[len(args):]
        fits = len(opdef.operands) == len(args) and all(p.has_default for p in rest) and all(
            isinstance(arg, Value) or param.role == "Operand"
            for param, arg in zip(opdef.params, args, strict=False))
        if not fits:
            raise _CannotExpand
        shape = _broadcast([arg.shape for arg in args if isinstance(arg, Value)])
        result = Value(shape, dtype or self.dtype, self.node.outputs[0].device)
        filled = (*args, *(p.default for p in rest))
        self.nodes.append(Node(key, filled, (result,), where=self.node.where,
                               history=self.node.history))
        return result

    def rename(self, results: list[Any]) -> None:
        """Let the last nodes assign the values that the node assigned."""
        own = {value: node for node in self.nodes for value in node.outputs}
        for result, wanted in zip(results, self.node.outputs, strict=True):
            if result not in own or (result.shape, result.dtype) != (wanted.shape, wanted.dtype):
                raise _CannotExpand
            own[result].outputs = (wanted,)
            for node in self.nodes:
                node.args = rename(node.args, {result: wanted})
            del own[result]

    def is_exact(self) -> bool:
        """Whether it gives the node's bits on samples."""
        inputs = list(dict.fromkeys(self.node.inputs))
        count = len(_SAMPLES) ** min(2, len(inputs))
        values: dict[Value, Any] = {}
        for number, value in enumerate(inputs):
            step = len(_SAMPLES) ** (number % 2)
            numbers = [_SAMPLES[(k // step + number // 2) % len(_SAMPLES)] for k in range(count)]
            values[value] = bridge.from_numbers(numbers, value.dtype)
        expected = self.run(self.node, values)
        for node in self.nodes:
            values.update(zip(node.outputs, self.run(node, values), strict=True))
        found = [values[value] for value in self.node.outputs]
        return all(map(bridge.same_bits, found, expected))

    @staticmethod
    def run(node: Node, values: dict[Value, Any]) -> list[Any]:
        return run_operator(node.op, map_args(node.args, lambda arg: values.get(arg, arg)
                                              if isinstance(arg, Value) else arg))


def _broadcast(shapes: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The shape of a result; sizes that vary must be the same."""
    rank = max(map(len, shapes))
    rows = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    made = []
    for sizes in zip(*rows, strict=True):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            raise _CannotExpand
        made.append(others.pop() if others else 1)
    return tuple(made)
