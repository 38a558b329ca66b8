"""Sizes of nodes in bytes, and nodes with other targets."""

from __future__ import annotations

from typing import Any, NamedTuple

from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, Target
from flambeau.fx.passes.shape_prop import ShapeProp, TensorMetadata

__all__ = ["get_size_of_all_nodes", "get_size_of_node", "get_tensor_meta",
           "replace_target_nodes_with", "size_bytes"]


class size_bytes(NamedTuple):
    """Bytes of a node.

    Args:
        output_size: Those of its result.
        total_size: Those of its result and its parameters.
    """

    output_size: int
    total_size: int


def replace_target_nodes_with(fx_module: GraphModule, old_op: str, old_target: Target,
                              new_op: str, new_target: Target) -> None:
    """Let nodes call something else.

    Args:
        fx_module: The module.
        old_op: The ``op`` of the nodes.
        old_target: Their target.
        new_op: Their new ``op``.
        new_target: Their new target.
    """
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            node.op, node.target = new_op, new_target
    fx_module.recompile()


def get_size_of_all_nodes(fx_module: GraphModule, args: list[Any] | None = None) -> None:
    """Give each node an attribute ``size_bytes``.

    Args:
        fx_module: The module.
        args: Arguments to run it with, for shapes; None where `ShapeProp` has noted them.
    """
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op != "output":
            node.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node: Node) -> TensorMetadata:
    """What `ShapeProp` noted of a node's result.

    Args:
        node: The node.

    Raises:
        RuntimeError: it noted nothing.
    """
    found = node.meta.get("tensor_meta")
    if not found:
        raise RuntimeError(f"Node {node} has no tensor metadata associated with it! "
                           f"Check that shape propagation has run.")
    return found


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The bytes of a node.

    Args:
        fx_module: The module that its modules are in.
        node: The node.
    """
    meta = get_tensor_meta(node)
    output = meta.shape.numel()
    total = output
    if node.op == "call_module":
        module = fx_module.get_submodule(str(node.target))
        total += sum(each.numel() for each in module.parameters())
    return size_bytes(output * meta.dtype.itemsize, total * meta.dtype.itemsize)
