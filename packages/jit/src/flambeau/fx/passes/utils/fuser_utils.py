"""Nodes of a graph put into a graph of their own, which is called instead."""

from __future__ import annotations

import copy
import operator
from typing import Any

from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.passes.tools_common import (
    sorted_nodes,
    stable_topological_sort,
    validate_partition,
)
from flambeau.fx.passes.utils.common import lift_subgraph_as_module

__all__ = ["erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort",
           "validate_partition"]


def topo_sort(nodes: list[Node]) -> list[Node]:
    """Nodes after those of them that they need, else in their order.

    Args:
        nodes: The nodes.
    """
    return sorted_nodes(nodes)


def fuse_as_graphmodule(gm: GraphModule, nodes: list[Node], module_name: str,
                        partition_lookup_table: Any = None, *, always_return_tuple: bool = False
                        ) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """A module made of copies of nodes.

    Args:
        gm: The module that the nodes are of.
        nodes: The nodes, each after those that it needs.
        module_name: The name of the new module's class.
        partition_lookup_table: The nodes, as a dict.
        always_return_tuple: Return a tuple, even of one result.

    Returns:
        The module, the nodes that it takes, the nodes whose values it gives.

    Raises:
        AssertionError: a node is of another graph, or something outside lies between them.
    """
    inside = dict.fromkeys(nodes if partition_lookup_table is None else partition_lookup_table)
    for node in nodes:
        if node.graph.owning_module is not gm or node not in gm.graph.nodes:
            raise AssertionError(f"{node} is no node of the module's graph, or was erased")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    graph = Graph()
    outer: dict[Node, Node] = {}
    values: dict[Node, Node] = {}

    def value(node: Node) -> Node:
        if node in inside:
            return values[node]
        if node not in outer:
            outer[node] = graph.placeholder(node.name, type_expr=node.type)
            outer[node].meta = copy.copy(node.meta)
        return outer[node]

    for node in nodes:
        values[node] = graph.node_copy(node, value)
    given = [node for node in nodes if any(user not in inside for user in node.users)]
    results = tuple(values[node] for node in given)
    graph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    graph.lint()
    made, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return made, tuple(outer), tuple(given)


def insert_subgm(gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple[Node, ...],
                 orig_outputs: tuple[Node, ...], insertion_point: Node | None = None
                 ) -> GraphModule:
    """Call a module instead of nodes.

    Args:
        gm: The module that the nodes are of.
        sub_gm: What is called; it is added under the name of its class.
        orig_inputs: The nodes that it takes.
        orig_outputs: The nodes that it computes.
        insertion_point: The node that the call comes after; None means the last of the latter.
    """
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    after = insertion_point or next(
        (node for node in reversed(gm.graph.nodes) if node in orig_outputs), None)
    if after is None:
        raise AssertionError("insert_subgm(): without results insertion_point must be given")
    with gm.graph.inserting_after(after):
        call = gm.graph.call_module(name, args=orig_inputs)
    result = sub_gm.graph.output_node().args[0]
    if len(orig_outputs) == 1 and not isinstance(result, tuple):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        return gm
    with gm.graph.inserting_before(call.next):
        for at, node in enumerate(orig_outputs):
            item = gm.graph.call_function(operator.getitem, (call, at))
            node.replace_all_uses_with(item, propagate_meta=True)
    call.meta["val"] = tuple(node.meta.get("val") for node in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: list[Node]) -> None:
    """Take nodes out, the last first.

    Args:
        gm: Their module.
        nodes: The nodes, each after those that it needs.
    """
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm: GraphModule, partitions: list[Any], prefix: str = "fused_",
                       always_return_tuple: bool = False) -> GraphModule:
    """Put groups of nodes into modules of their own.

    Args:
        gm: The module, which is changed.
        partitions: The groups.
        prefix: How the names of the modules begin.
        always_return_tuple: Let them return tuples, even of one result.

    Returns:
        The module.

    Raises:
        AssertionError: something outside a group lies between its nodes.
    """
    for at, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        made, inputs, outputs = fuse_as_graphmodule(
            gm, nodes, f"{prefix}{at}", always_return_tuple=always_return_tuple)
        insert_subgm(gm, made, inputs, outputs, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm
