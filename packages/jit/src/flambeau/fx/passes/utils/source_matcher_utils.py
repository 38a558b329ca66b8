"""Nodes found by the function or class of modules that a program called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flambeau.fx.graph import Graph
from flambeau.fx.node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes of one call.

    Args:
        nodes: The nodes.
        source: The function or class.
        input_nodes: Nodes outside that they need, parameters excepted.
        output_nodes: Nodes among them that others use.
        params: Parameters among them.
    """

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def get_source_partitions(graph: Graph, wanted_sources: list[Any],
                          filter_fn: Callable[[Node], bool] | None = None
                          ) -> dict[Any, list[SourcePartition]]:
    """The nodes that calls of functions or modules became.

    What a node is of stands in its ``meta``: ``source_fn_stack``, ``torch_fn`` or
    ``nn_module_stack``.

    Args:
        graph: The graph.
        wanted_sources: Functions, names of functions, classes of modules.
        filter_fn: Says of a node whether it may be part of what is found.

    Returns:
        Source -> the nodes of each call.
    """
    found: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        source = _source(node, wanted_sources)
        if source is not None:
            found.setdefault(source[1], {}).setdefault(source[0], []).append(node)
    return {source: [_partition(nodes, source) for nodes in calls.values()
                     if filter_fn is None or all(map(filter_fn, nodes))]
            for source, calls in found.items()}


def _source(node: Node, wanted: list[Any]) -> tuple[str, Any] | None:
    """The name of the call that a node is of, and its source, where that is wanted."""
    stack = node.meta.get("source_fn_stack")
    if stack is not None:
        name, source = stack[-1]
        return (name, source) if source in wanted else None
    if "torch_fn" in node.meta:
        name, source = node.meta["torch_fn"]
        source = source.split(".")[1]
        if source in wanted:
            return name, source
    modules = node.meta.get("nn_module_stack")
    if node.op in ("call_function", "call_method") and modules:
        path, kind = list(modules.values())[-1]
        for each in wanted:
            if each is kind or (isinstance(each, type) and (
                    issubclass(kind, each) if isinstance(kind, type)
                    else kind == f"{each.__module__}.{each.__qualname__}")):
                return path, each
    return None


def _partition(nodes: list[Node], source: Any) -> SourcePartition:
    inside = set(nodes)
    inputs: dict[Node, None] = {}
    for node in nodes:
        for each in node.args:
            if isinstance(each, Node) and each not in inside and each.op != "get_attr":
                inputs[each] = None
    outputs = [node for node in nodes if node.op != "get_attr"
               and any(user not in inside for user in node.users)]
    return SourcePartition(nodes, source, list(inputs), outputs,
                           [node for node in nodes if node.op == "get_attr"])


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether a node of the second uses one of the first.

    Args:
        subgraph1: The first.
        subgraph2: The second.
    """
    return any(user in subgraph2.nodes for node in subgraph1.nodes for user in node.users)
