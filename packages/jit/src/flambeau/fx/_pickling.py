"""Graphs as plain data, for pickles and copies between processes."""

from __future__ import annotations

from typing import Any

from flambeau.fx.graph import Graph
from flambeau.fx.node import Node, map_arg


class Reference:
    """A node among arguments.

    Args:
        name: Its name.
    """

    def __init__(self, name: str) -> None:
        self.name = name


def reduce_graph(graph: Graph) -> tuple[Any, ...]:
    """What ``Graph.__reduce__`` returns."""
    rows = [_row(node) for node in graph.nodes]
    return restore_graph, (rows, graph._codegen, graph._tracer_cls)


def _row(node: Node) -> tuple[Any, ...]:
    def refer(each: Node) -> Any:
        return Reference(each.name)

    return (node.op, node.name, node.target, map_arg(node.args, refer),
            map_arg(node.kwargs, refer), node.type, _kept(node.meta))


def _kept(meta: dict[str, Any]) -> dict[str, Any]:
    return {key: meta[key] for key in ("stack_trace", "is_wrapped", "tensor_meta") if key in meta}


def restore_graph(rows: list[Any], codegen: Any, tracer_cls: Any) -> Graph:
    """The graph again.

    Args:
        rows: A tuple a node.
        codegen: How the graph is written as a function.
        tracer_cls: The class that recorded it.
    """
    from flambeau.fx.node import map_aggregate

    graph = Graph(tracer_cls=tracer_cls)
    found: dict[str, Node] = {}

    def look_up(x: Any) -> Any:
        return found[x.name] if isinstance(x, Reference) else x

    for op, name, target, args, kwargs, kind, meta in rows:
        args, kwargs = map_aggregate(args, look_up), map_aggregate(kwargs, look_up)
        node = graph.create_node(op, target, tuple(args), dict(kwargs), name, kind)
        node.meta.update(meta)
        found[name] = node
    graph.set_codegen(codegen)
    return graph
