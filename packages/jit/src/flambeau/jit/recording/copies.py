"""Recordings of ``reshape``, which copies for some sizes alone, such as none of 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flambeau.jit.ir import Graph, Node, Value, map_args
from flambeau.jit.opset import is_view

COPY = "contiguous_copy"


def align_copies(graphs: Sequence[Graph]) -> None:
    """Have all recordings copy where one does, if nothing writes to that memory.

    Where the operators differ in something else, they are left as they are.
    """
    written = [_written(graph) for graph in graphs]
    number = 0
    while all(number < len(graph.nodes) for graph in graphs):
        nodes = [graph.nodes[number] for graph in graphs]
        if any(node.op == COPY for node in nodes):
            for graph, node, memory in zip(graphs, nodes, written, strict=True):
                if node.op == COPY:
                    continue
                if node.op != "view" or node.args[0] in memory:
                    return
                _copy_before(graph, number)
        number += 1


def _copy_before(graph: Graph, number: int) -> None:
    view = graph.nodes[number]
    source = view.args[0]
    copied: Value = source.like()
    graph.nodes.insert(number, Node(COPY, (source,), (copied,), where=view.where,
                                    history=view.history))
    args = map_args(view.args, lambda leaf: copied if leaf is source else leaf)
    graph.nodes[number + 1] = replace(view, args=args)


def _written(graph: Graph) -> set[Value]:
    """All values over memory that is written to."""
    roots: dict[Value, Value] = {}
    for node in graph.nodes:
        if is_view(node.op):
            root: Any = roots.get(node.args[0], node.args[0])
            roots.update(dict.fromkeys(node.outputs, root))
    changed = {roots.get(value, value) for node in graph.nodes for value in node.into}
    return {*changed, *(value for value, root in roots.items() if root in changed)}
