"""Whether another recording is what a graph for all sizes says of its sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from flambeau.jit.dims import Dim
from flambeau.jit.errors import TraceError
from flambeau.jit.ir import Graph, Node, Value
from flambeau.jit.literals import show
from flambeau.jit.recording.fit import Sizes
from flambeau.jit.recording.formulas import Unknown, evaluate
from flambeau.jit.recording.value_fit import ValueFit


def check_alike(graph: Graph, fit: ValueFit, other: Graph, sizes: Sizes) -> None:
    """Compare a recording with a graph.

    Args:
        graph: the graph.
        fit: what found its sizes.
        other: the recording.
        sizes: its sizes, invented and named.

    Raises:
        TraceError: Python does something else there.
    """
    _Comparison(fit, dict(sizes)).graphs(graph, other)


class _Comparison:
    def __init__(self, fit: ValueFit, sizes: Sizes) -> None:
        self.fit = fit
        self.sizes = sizes
        self.same: dict[Value, Value] = {}

    def graphs(self, graph: Graph, other: Graph) -> None:
        recorded = [node for node in graph.nodes if node not in self.fit.made]
        self.values([*graph.inputs, *(each.value for each in graph.captures)],
                    [*other.inputs, *(each.value for each in other.captures)], "")
        for node, one in zip(recorded, other.nodes, strict=False):
            self.nodes(node, one)
        if len(recorded) != len(other.nodes):
            longest = max(recorded, other.nodes, key=len)
            self.fail(longest[min(len(recorded), len(other.nodes))].where)
        if [self.same.get(value) for value in graph.outputs] != other.outputs:
            self.fail("")

    def nodes(self, node: Node, other: Node) -> None:
        if node.op != other.op or len(node.regions) != len(other.regions):
            self.fail(other.where)
        self.argument((*node.args, *node.into), (*other.args, *other.into), node)
        for one, inside in zip(node.regions, other.regions, strict=True):
            self.graphs(one, inside)
        self.values(node.outputs, other.outputs, node.where)

    def values(self, ours: Sequence[Value], others: Sequence[Value], where: str) -> None:
        if len(ours) != len(others):
            self.fail(where)
        for value, other in zip(ours, others, strict=True):
            if value.dtype != other.dtype or len(value.shape) != len(other.shape):
                self.fail(where)
            for size, found in zip(value.shape, other.shape, strict=True):
                self.number(size, found, where, is_result=True)
            self.same[value] = other

    def argument(self, arg: Any, other: Any, node: Node) -> None:
        if isinstance(arg, tuple) and isinstance(other, tuple) and len(arg) == len(other):
            for one, found in zip(arg, other, strict=True):
                self.argument(one, found, node)
        elif isinstance(arg, Value):
            if self.same.get(arg) is not other:
                self.fail(node.where)
        else:
            self.number(arg, other, node.where)

    def number(self, number: Any, found: Any, where: str, is_result: bool = False) -> None:
        if isinstance(number, Dim):
            self.learn(number, found, is_result)
            number = number.evaluate(self.sizes)
        if type(number) is not type(found) or repr(number) != repr(found):
            self.fail(where, f"{show(number)} becomes {show(found)}")

    def learn(self, dim: Dim, found: Any, is_result: bool) -> None:
        """Know a size that a result has, or that is computed."""
        for name in dim.names:
            if name in self.sizes:
                continue
            if name in self.fit.formulas:
                try:
                    self.sizes[name] = evaluate(self.fit.formulas[name], self.fit.size_of,
                                                self.sizes)
                except Unknown:
                    self.fail("")
            elif is_result and dim.terms == ((name, 1),) and not dim.offset:
                self.sizes[name] = found
            else:
                self.fail("")

    def fail(self, where: str, why: str = "Python takes another path") -> NoReturn:
        raise TraceError(f"{where}: {why}" if where else why)
