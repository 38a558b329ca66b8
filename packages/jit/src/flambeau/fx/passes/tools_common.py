"""What passes share: names of targets, orders of nodes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

import flambeau
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.passes.operator_support import get_node_target

__all__ = ["CALLABLE_NODE_OPS", "Names", "NodeList", "NodeSet", "TensorOrTensors", "Tensors",
           "get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph",
           "stable_topological_sort", "validate_partition"]

Tensors = tuple[flambeau.Tensor, ...] | list[flambeau.Tensor]
TensorOrTensors = flambeau.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k: Any) -> str:
    """The dotted name of a function or class; a string as it is.

    Args:
        k: The function, class or string.
    """
    from flambeau.fx import _names

    if isinstance(k, str):
        return k
    if "acc_ops" in (k.__module__ or ""):
        return f"acc_ops.{k.__name__}"
    return _names.type_name(k) if isinstance(k, type) else _names.qualified_name(k)


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node's value is a tensor; `ShapeProp` has noted that.

    Args:
        node: The node.
    """
    kind = node.meta.get("type")
    return isinstance(kind, type) and issubclass(kind, flambeau.Tensor)


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Put the nodes of a graph into an order in which each comes after what it needs.

    Nodes stay in their order as far as that is possible.

    Args:
        gm: The module, whose graph is replaced.

    Returns:
        The module.

    Raises:
        RuntimeError: nodes need one another.
    """
    nodes = list(gm.graph.nodes)
    made, values = Graph(gm, gm.graph._tracer_cls, gm.graph._tracer_extras), dict[Node, Node]()
    for node in sorted_nodes(nodes):
        values[node] = made.node_copy(node, lambda n: values[n])
    made._codegen = gm.graph._codegen
    gm.graph = made
    return gm


legalize_graph = stable_topological_sort


def sorted_nodes(nodes: list[Node]) -> list[Node]:
    """Nodes after those of them that they need, else in their order."""
    place = {node: at for at, node in enumerate(nodes)}
    waits = {node: sum(each in place for each in node.all_input_nodes) for node in nodes}
    ready = [place[node] for node in nodes if not waits[node]]
    heapq.heapify(ready)
    found: list[Node] = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        found.append(node)
        for user in node.users:
            if user in waits:
                waits[user] -= 1
                if not waits[user]:
                    heapq.heappush(ready, place[user])
    if len(found) < len(nodes):
        left = [node for node in nodes if waits[node]]
        raise RuntimeError(f"Input graph has cycles, unable to add {left}")
    return found


def validate_partition(partition: Iterable[Node]) -> bool:
    """Whether nodes can be called as one: nothing outside needs one of them and is needed by one.

    Args:
        partition: The nodes.
    """
    inside = set(partition)
    seen = {user for node in inside for user in node.users if user not in inside}
    waiting = list(seen)
    while waiting:
        for user in waiting.pop().users:
            if user in inside:
                return False
            if user not in seen:
                seen.add(user)
                waiting.append(user)
    return True
