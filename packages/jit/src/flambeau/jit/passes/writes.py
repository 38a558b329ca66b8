"""Make writes into new tensors that nothing else looks at new tensors themselves."""

from __future__ import annotations

from dataclasses import replace

from flambeau.jit.grammar import concrete
from flambeau.jit.inference import infer_values
from flambeau.jit.ir import Graph, Node, Value, map_args, values_in
from flambeau.jit.literals import DType
from flambeau.jit.opset import has_effects, is_view


def writes(graph: Graph) -> Graph:
    """Drop ``into`` where a run cannot tell: ``x.exp().add_(1)`` is ``x.exp().add(1)``.

    The memory has to be made by a node, written as a whole, and no view that was taken before a
    write is used after it. A graph whose other nodes write stays as it is.
    """
    made = _Memories(graph)
    if graph.grads or not all(made.may_drop(node) for node in graph.nodes if _writes(node)):
        return graph
    sizes = {name: max(recorded) for name, recorded in graph.symbols.items()}
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += _new_tensors(node, sizes) if node.into else [node]
    return replace(graph, nodes=nodes)


def _writes(node: Node) -> bool:
    return bool(node.into) or has_effects(node)


class _Memories:
    """Which values lie in one piece of memory, and where they are last used."""

    def __init__(self, graph: Graph) -> None:
        self.root: dict[Value, Value] = {}
        self.views: dict[Value, list[Value]] = {}
        self.made: dict[Value, int] = {}
        self.last: dict[Value, int] = dict.fromkeys(graph.results(), len(graph.nodes))
        for index, node in enumerate(graph.nodes):
            for value in node.inputs:
                self.last[value] = max(index, self.last.get(value, 0))
            for number, value in enumerate(node.outputs):
                self.add(node, number, value, index)
        self.index = {node: index for index, node in enumerate(graph.nodes)}

    def add(self, node: Node, number: int, value: Value, index: int) -> None:
        if node.into:
            target = node.into[number]
            self.root[value] = self.root.get(target, target)
        elif is_view(node.op):
            base: Value = node.args[0]
            root = self.root[value] = self.root.get(base, base)
            self.views.setdefault(root, []).append(value)
        else:
            self.root[value] = value
        self.made[value] = index

    def may_drop(self, node: Node) -> bool:
        """Whether a node may give new tensors instead of writing."""
        return bool(node.into) and all(self.is_private(value, node) for value in node.into)

    def is_private(self, target: Value, node: Node) -> bool:
        index = self.index[node]
        root = self.root.get(target)
        if root is None or root not in self.made or self.last[target] > index:
            return False
        views = self.views.get(root, ())
        return target not in views and all(
            self.made[view] > index or self.last.get(view, 0) <= index for view in views)


def _new_tensors(node: Node, sizes: dict[str, int]) -> list[Node]:
    """The node with results of its own, cast to what they were written into."""
    args = map_args(node.args, lambda leaf: concrete(leaf, sizes))
    types = infer_values(node.op, args)
    results, casts = [], []
    for value, dtype in zip(node.outputs, (found.dtype for found in types), strict=True):
        if dtype == value.dtype:
            results.append(value)
            continue
        results.append(replace(value, dtype=dtype))
        casts.append(Node("cast", (results[-1], DType(value.dtype)), (value,), where=node.where,
                          history=(0,) if node.history else ()))
    read = sum(1 for _ in values_in(node.args))       # ``history`` counts targets behind them
    history = tuple(number for number in node.history if number < read)
    return [replace(node, outputs=tuple(results), into=(), history=history), *casts]



