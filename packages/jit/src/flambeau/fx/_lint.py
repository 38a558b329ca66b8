"""The checks of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flambeau.fx.graph import Graph
    from flambeau.fx.node import Node


def lint(graph: Graph) -> None:
    """Raise RuntimeError, or ValueError for a target of the wrong kind, where a graph is wrong."""
    names: set[str] = set()
    seen: set[Node] = set()
    for node in graph.nodes:
        if node.graph is not graph:
            raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
        for arg in node._input_nodes:
            _check_argument(graph, node, arg, seen)
        seen.add(node)
        if node.name in names:
            raise RuntimeError(f"Node redefined name {node.name}!")
        names.add(node.name)
    if graph.owning_module is not None:
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _check_target(graph.owning_module, node)


def _check_argument(graph: Graph, node: Node, arg: Node, seen: set[Node]) -> None:
    if arg.graph is not graph:
        raise RuntimeError(
            f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an "
            "argument! If you are copying nodes from another graph, make sure to use "
            f"``arg_transform`` on node_copy() to remap values\n{graph}")
    if arg not in seen:
        raise RuntimeError(
            f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please check "
            f"that Nodes in the graph are topologically ordered\n{graph}")


def _check_target(module: Any, node: Node) -> None:
    from flambeau import nn

    at = module
    parts = str(node.target).split(".")
    for depth, part in enumerate(parts):
        below = getattr(at, part, None)
        path = ".".join(parts[:depth])
        if below is None:
            raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute "
                               f"{part} of {path}")
        at = below
    if node.op == "call_module" and not isinstance(at, nn.Module):
        raise RuntimeError(f"Node {node} target {node.target} {part} of {path} does not reference "
                           "an nn.Module")
