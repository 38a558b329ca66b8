"""Nodes of a graph that give no floats: masks, indices, and what moves their elements."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import flambeau.ao.quantization.backend_config.kinds as kinds
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node
from flambeau.fx.quantization.kinds import is_in, kind_of

#: Name of a call -> positions of masks and indices among its arguments.
_WHERE = {"masked_fill": (1,), "masked_select": (1,), "where": (0,), "index_select": (2,),
          "gather": (2,), "embedding": (0,), "embedding_bag": (0, 2), "getitem": (1,),
          "take_along_dim": (1,)}
_COMPARES = {"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "logical_and", "logical_or",
             "logical_not", "argmax", "argmin", "argsort", "bool", "long", "int", "byte"}
_OPERATORS = {operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
              operator.invert}


def no_floats(model: GraphModule) -> set[Node]:
    """Nodes that give masks or integers, as far as their use or their making says.

    Args:
        model: The graph.
    """
    found: set[Node] = set()
    for node in model.graph.nodes:
        kind = kind_of(model, node)
        for arg in _indices(node, kind):
            _back(model, arg, found)
        inputs = node.all_input_nodes
        moves = is_in(kinds.SHARED, kind) and inputs and all(each in found for each in inputs)
        if moves or is_in(_OPERATORS, kind) or _name(kind) in _COMPARES:
            found.add(node)
    return found


def _name(kind: Any) -> str:
    return kind if isinstance(kind, str) else getattr(kind, "__name__", "")


def _indices(node: Node, kind: Any) -> Iterator[Node]:
    """Masks and indices among the arguments of a call."""
    if is_in(kinds.TABLES, kind):
        yield from (arg for arg in node.args[:2] if isinstance(arg, Node))
    name = _name(kind).rstrip("_")
    shift = 1 if name == "where" and node.op == "call_method" else 0
    for at in _WHERE.get(name, ()):
        for arg in node.args[at + shift:at + shift + 1]:
            if isinstance(arg, Node):
                yield arg


def _back(model: GraphModule, node: Node, found: set[Node]) -> None:
    """A node, and those whose elements it only moves."""
    if node in found:
        return
    found.add(node)
    if is_in(kinds.SHARED - kinds.RELUS, kind_of(model, node)) and node.args:
        first = node.args[0]
        for each in first if isinstance(first, list | tuple) else [first]:
            if isinstance(each, Node):
                _back(model, each, found)
