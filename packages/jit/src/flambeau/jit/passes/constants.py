"""Compute now what depends on nothing that is given later."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import count

from flambeau.jit import bridge
from flambeau.jit.dims import Dim
from flambeau.jit.interpreter import run_operator
from flambeau.jit.ir import Arg, Capture, Graph, Node, Value, map_args, rename
from flambeau.jit.literals import Opaque, Slot
from flambeau.jit.opset import FUSED, VIEW_WRITE, is_needed, is_pure

#: Larger results are computed at each run: they would swell memory and saved files.
LIMIT = 1 << 16

#: Known, but of no value as constants: memory that a fill or a draw will overwrite.
_UNFILLED = ("empty", "empty_strided")


def constants(graph: Graph) -> Graph:
    """Replace nodes whose arguments are literals and constants, such as masks and ranges.

    Captured tensors count only when no one else holds them: weights may change between runs.
    Results keep the node they had, so that no one can write into a constant.
    """
    tensors = {c.value: c.tensor for c in graph.captures if c.constant}
    captures = list(graph.captures)
    shown = graph.shown()
    new: dict[Value, Value] = {}
    nodes = []
    for node in graph.nodes:
        node = replace(node, args=rename(node.args, new))
        nodes.append(node)
        if not _is_constant(node, tensors):
            continue
        args = map_args(node.args, lambda leaf: _tensor(tensors, leaf))
        results = run_operator(node.op, args)[:len(node.outputs)]
        tensors.update(zip(node.outputs, results, strict=True))
        if node.op in _UNFILLED:
            continue
        for value, tensor in zip(node.outputs, results, strict=True):
            if value in shown:
                continue
            new[value] = add_constant(captures, tensor)
            tensors[new[value]] = tensor
    return replace(graph, nodes=nodes, captures=captures)


def add_constant(captures: list[Capture], tensor: object) -> Value:
    """The value of a tensor that becomes a constant, under a name that is free."""
    names = {capture.name for capture in captures}
    name = next(name for k in count(len(captures)) if (name := f"constant{k}") not in names)
    value = bridge.value_of(tensor)
    captures.append(Capture(value, name, tensor, constant=True))
    return value


def _tensor(tensors: dict[Value, object], leaf: object) -> object:
    return tensors[leaf] if isinstance(leaf, Value) else leaf


def _is_constant(node: Node, tensors: dict[Value, object]) -> bool:
    if node.op in (FUSED, VIEW_WRITE) or not is_pure(node.op):
        return False
    if any(not _is_small(value) for value in node.outputs) or is_needed(node.op):
        return False
    return all(_is_known(leaf, tensors) for leaf in _leaves(node.args))


def _is_known(leaf: object, tensors: dict[Value, object]) -> bool:
    if isinstance(leaf, Value):
        return leaf in tensors
    return not isinstance(leaf, Dim | Slot | Opaque)


def _is_small(value: Value) -> bool:
    sizes = [size for size in value.shape if isinstance(size, int)]
    return len(sizes) == len(value.shape) and math.prod(sizes) <= LIMIT


def _leaves(args: tuple[Arg, ...]) -> list[object]:
    found: list[object] = []
    map_args(args, found.append)
    return found
