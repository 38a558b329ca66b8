"""Types of items, from the types of what they are items of."""

from __future__ import annotations

import operator
import typing
from typing import Any

from flambeau.fx.graph import Graph

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """Give the nodes of ``sequence[i]`` a type, where the sequence's says one.

    Args:
        graph: The graph.
    """
    for node in graph.nodes:
        if node.target is operator.getitem and node.args[0].type is not None:
            found = _item(node.args[0].type, node.args[1])
            node.type = node.type if found is None else found


def _item(kind: Any, at: Any) -> Any:
    """The type of an item of a tuple, list or named tuple; None for anything else."""
    base, inner = typing.get_origin(kind), typing.get_args(kind)
    if base is list and inner:
        return inner[0]
    if not isinstance(at, int):
        return None
    if base is tuple and inner:
        return inner[0] if inner[-1] is Ellipsis else inner[at]
    if isinstance(kind, type) and hasattr(kind, "_fields"):
        return typing.get_type_hints(kind)[kind._fields[at]]
    return None
