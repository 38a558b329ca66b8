"""Equal calls, computed once."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau.core import Operator
from flambeau.core.homes import own_module
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.node import Node, map_aggregate
from flambeau.fx.passes.infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]


def get_CSE_banned_ops() -> set[Any]:
    """Operators whose equal calls differ: those that draw random numbers."""
    from flambeau.core import _core
    from flambeau.fx.node import _DRAWING

    table = _core.operators()
    packets = {getattr(flambeau.ops.aten, name) for name in _DRAWING
               if hasattr(flambeau.ops.aten, name)}
    return packets | {table[name] for name in _DRAWING if name in table}


class CSEPass(PassBase):
    """Computes equal calls once.

    Args:
        banned_ops: Functions whose calls all stay.
    """

    def __init__(self, banned_ops: set[Any] | None = None) -> None:
        self.banned_ops = set(banned_ops or ())
        super().__init__()

    def call(self, graph_module: GraphModule) -> PassResult:
        """A module without equal calls; the same module where a node writes to a tensor.

        Args:
            graph_module: The module.
        """
        if any(_writes(node) for node in graph_module.graph.nodes):
            return PassResult(graph_module, False)
        old, new = graph_module.graph, Graph()
        values: dict[Node, Node] = {}
        met: dict[Any, Node] = {}
        changed = False
        for node in old.nodes:
            key = self._key(node, values)
            if key is not None and key in met:
                values[node] = met[key]
                changed = True
                continue
            if node.op == "output":
                new.output(map_aggregate(node.args[0], lambda x: values.get(x, x)
                                         if isinstance(x, Node) else x), node.type)
                continue
            values[node] = new.node_copy(node, lambda n: values[n])
            if key is not None:
                met[key] = values[node]
        return PassResult(GraphModule(graph_module, new), changed)

    def _key(self, node: Node, values: dict[Node, Node]) -> Any:
        """What two equal calls share; None for calls that stay."""
        if node.op == "get_attr":
            return "get_attr", node.target
        if node.op != "call_function" or self._is_banned(node.target) or node.is_impure():
            return None
        kind = type(node.target)
        if not issubclass(kind, Operator) and own_module(kind) != "flambeau.library.operators" \
                and getattr(node.target, "__module__", "") != "_operator":
            return None

        def stand(x: Any) -> Any:
            return (type(x), values[x] if isinstance(x, Node) else x)

        try:
            key = (node.target, _frozen(map_aggregate(node.args, stand)),
                   _frozen(map_aggregate(node.kwargs, stand)))
            hash(key)
        except TypeError:
            return None
        return key

    def _is_banned(self, target: Any) -> bool:
        """Whether calls of a function, or of an operator that it is a form of, all stay."""
        return target in self.banned_ops \
            or getattr(target, "overloadpacket", None) in self.banned_ops


def _writes(node: Node) -> bool:
    """Whether a node changes a tensor that others may see."""
    return node.op in ("call_function", "call_method") and node.is_impure(impure_random=False)


def _frozen(tree: Any) -> Any:
    if isinstance(tree, list | tuple):
        return (type(tree).__name__, *(_frozen(each) for each in tree))
    if isinstance(tree, dict):
        return ("dict", *((key, _frozen(each)) for key, each in sorted(tree.items())))
    if isinstance(tree, slice):
        return ("slice", _frozen(tree.start), _frozen(tree.stop), _frozen(tree.step))
    return tree
