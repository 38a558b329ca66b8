"""Products with one matrix, computed as one."""

from __future__ import annotations

import operator
from typing import Any

import flambeau
from flambeau import nn
from flambeau.fx._symbolic_trace import symbolic_trace
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.passes.tools_common import stable_topological_sort
from flambeau.fx.proxy import Proxy

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]


def split_result_tensors(result: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """The parts of a product of several matrices, one below the other, with a matrix.

    Args:
        result: The product.
        inputs: The several matrices.
    """
    if isinstance(result, Proxy):
        shown: Any = result
        return flambeau.split(shown, [0] * len(inputs))
    dim = result.ndim - inputs[0].ndim
    return tuple(flambeau.split(result, [each.shape[0] for each in inputs], dim))


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether a node may need the value of another one.

    Args:
        a: The node.
        b: The other one.
        search_depth: How far to look; beyond, the answer is yes.
    """
    if a is b:
        return True
    if not a.all_input_nodes:
        return False
    return search_depth == 0 or any(may_depend_on(each, b, search_depth - 1)
                                    for each in a.all_input_nodes)


def are_nodes_independent(nodes: list[Node]) -> bool:
    """Whether no node needs the value of another one.

    Args:
        nodes: The nodes.
    """
    return not any(may_depend_on(a, b) for a in nodes for b in nodes if a is not b)


def merge_matmul(in_mod: nn.Module) -> GraphModule:
    """Compute products with the same right matrix as one: ``cat(a, b) @ c``.

    Args:
        in_mod: The module.

    Returns:
        The module recorded, with fewer products.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> from flambeau.fx.experimental.merge_matmul import merge_matmul
        >>> class Two(nn.Module):
        ...     def forward(self, a, b, c):
        ...         return flambeau.matmul(a, c), flambeau.matmul(b, c)
        >>> merged = merge_matmul(Two())
        >>> sum(node.target is flambeau.matmul for node in merged.graph.nodes)
        1
    """
    module = symbolic_trace(in_mod)
    groups: dict[Any, list[Node]] = {}
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target is flambeau.matmul and len(node.args) == 2:
            right = node.args[1]
            groups.setdefault(right.target if right.op == "get_attr" else right, []).append(node)
    for products in groups.values():
        if len(products) > 1 and are_nodes_independent(products):
            _merge(module, products)
    stable_topological_sort(module)
    module.graph.lint()
    return module


def _merge(module: GraphModule, products: list[Node]) -> None:
    graph = module.graph
    left = [node.args[0] for node in products]
    with graph.inserting_before(graph.output_node()):
        joined = graph.call_function(flambeau.cat, (left,))
        product = graph.call_function(flambeau.matmul, (joined, products[0].args[1]))
        parts = graph.call_function(split_result_tensors, (product, left))
        for at, node in enumerate(products):
            node.replace_all_uses_with(graph.call_function(operator.getitem, (parts, at)))
    for node in products:
        graph.erase_node(node)
