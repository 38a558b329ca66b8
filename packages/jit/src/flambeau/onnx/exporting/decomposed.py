"""Operators without a writer: what computes them by others, recorded once more and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau import jit
from flambeau.core.decompositions import decomposition
from flambeau.jit import bridge
from flambeau.jit.dims import Dim, evaluate
from flambeau.jit.ir import Graph, Node, map_args
from flambeau.jit.recording.tracing import trace
from flambeau.jit.standing_in import over_tensors
from flambeau.onnx.exporting import rewritten
from flambeau.onnx.exporting.builder import Builder
from flambeau.onnx.exporting.table import refuse


def function_of(node: Node) -> Callable[..., Any] | None:
    """A function of tensors that computes what a node does, or None."""
    return rewritten.find(node) or decomposition(node.op)


def recorded(b: Builder, node: Node, wanted: Sequence[int], function: Callable[..., Any]) -> Graph:
    """The graph of a node's decomposition, over the node's tensors, for sizes that vary.

    Args:
        b: What is written; it learns where the graph's symbols are read.
        node: The node.
        wanted: Which of its results are used; the graph gives these.
        function: Takes the node's arguments and gives its results.

    Raises:
        ExportError: The decomposition takes other paths for other sizes.
    """
    values = list(dict.fromkeys(node.inputs))
    if any(isinstance(arg, Dim) for arg in _leaves(node.args)):
        refuse(node, "a size that varies is not written here; trace it with dynamic=False")
    symbols: dict[Dim, str] = {}
    dynamic: dict[int, dict[int, str]] = {}
    for k, value in enumerate(values):
        for axis, size in enumerate(value.shape):
            if isinstance(size, Dim):
                dynamic.setdefault(k, {})[axis] = symbols.setdefault(size, b.fresh("size"))

    examples = tuple(bridge.zeros([evaluate(size, b.examples) for size in value.shape],
                                  value.dtype) for value in values)
    try:
        with bridge.no_grad():
            graph = trace(over_tensors(node, function, wanted), examples,
                              dynamic=dynamic or False).graph
    except (jit.TraceError, ValueError, RuntimeError, IndexError) as error:
        refuse(node, f"written by other operators, it decides on sizes or values: {error}")
    inner = {name: evaluate(size, b.examples) for size, name in symbols.items()}
    _check(b, node, graph, wanted, inner)
    for value, inside in zip(values, graph.inputs, strict=True):
        for axis, size in enumerate(inside.shape):
            if isinstance(size, Dim):
                b.symbols.setdefault(str(size), (b.names[value], axis))
    for size, name in symbols.items():
        _limit(b, node, size, name, graph)
    b.examples.update(inner)
    return graph


def _limit(b: Builder, node: Node, size: Dim, name: str, graph: Graph) -> None:
    """Note for which values of a size the decomposition is right, if not for all there may be."""
    around, inside = _range_of(b, size), graph.range_of(name)
    b.ranges[name] = range(max(around.start, inside.start), min(around.stop, inside.stop))
    if b.ranges[name] != around:
        b.limits.append((f"the size {size} in {node.op} at {node.where or 'an unknown line'}",
                         graph.limits[name]))


def _range_of(b: Builder, size: Dim) -> range:
    """The values that a size may have; its terms grow with the symbols, or it may be anything."""
    if any(factor < 0 for _, factor in size.terms):
        return range(2**62)
    first, last = (evaluate(size, {each: b.ranges[each][end] for each in size.names})
                   for end in (0, -1))
    return range(first, min(last + 1, 2**62))


def _leaves(args: Any) -> list[Any]:
    found: list[Any] = []
    map_args(args, found.append)
    return found


def _check(b: Builder, node: Node, graph: Graph, wanted: Sequence[int], inner: dict[str, int]
           ) -> None:
    """Refuse a decomposition whose results are others than the node's."""
    for k, value in zip(wanted, graph.outputs, strict=True):
        outer = node.outputs[k]
        found = [evaluate(size, inner) for size in value.shape]
        if found != [evaluate(size, b.examples) for size in outer.shape]:
            refuse(node, f"written by other operators, it has the shape {found}")
