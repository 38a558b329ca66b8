"""Compute equal things once."""

from __future__ import annotations

from dataclasses import replace

from flambeau.jit.ir import Graph, Node, Value, map_args, rename
from flambeau.jit.opset import is_pure


def common(graph: Graph) -> Graph:
    """Let users of a node use an earlier one with the same operator and arguments.

    Nodes that draw random numbers are never equal. Results, and what they are views of,
    keep the node they had, so that two results never become one tensor; what nothing uses any
    more is dropped by ``dead_code``.
    """
    shown = graph.shown()
    seen: dict[object, Node] = {}
    new: dict[Value, Value] = {}
    nodes = []
    for node in graph.nodes:
        node = replace(node, args=rename(node.args, new))
        nodes.append(node)
        if is_pure(node.op) and node.body is None:
            first = seen.setdefault((node.op, _key(node.args)), node)
            if shown.isdisjoint(node.outputs):
                new.update(zip(node.outputs, first.outputs, strict=True))
    return replace(graph, nodes=nodes)


def _key(args: tuple[object, ...]) -> object:
    """The arguments, with 1, 1.0 and True, and 0.0 and -0.0, kept apart."""
    return map_args(args, lambda leaf: (type(leaf), str(leaf) if _is_float(leaf) else leaf))


def _is_float(leaf: object) -> bool:
    return isinstance(leaf, float | complex)
