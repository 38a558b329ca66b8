"""Operators without machine code of their own, in terms of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from flambeau.core.decompositions import decomposition
from flambeau.jit import bridge
from flambeau.jit.ahead.fixed import shape_of
from flambeau.jit.ahead.rewritten import HALVES, written
from flambeau.jit.errors import ProgramError
from flambeau.jit.ir import Graph, Node, Value, rename
from flambeau.jit.passes import common, constants, dead_code
from flambeau.jit.recording.tracing import trace
from flambeau.jit.standing_in import over_tensors

#: Decompositions inside decompositions, at most.
_DEPTH = 4


def expanded(graph: Graph, is_known: Callable[[Node], bool]) -> Graph:
    """The graph with the decompositions of operators that have no machine code.

    Their sums may have another order than those of the core's kernels.

    Args:
        graph: one of fixed sizes.
        is_known: whether a node has machine code.
    """
    for _ in range(_DEPTH):
        used = set(graph.outputs) | {value for node in graph.nodes for value in node.inputs}
        found = {node: made for node in graph.nodes if node.body is None and not node.into
                 and (made := _expansion(node, used, is_known)) is not None}
        if not found:
            return graph
        graph = _inlined(graph, found)
        if graph.is_pure():
            graph = dead_code(common(graph if _has_halves(graph) else constants(graph)))
    return graph


def _has_halves(graph: Graph) -> bool:
    """Whether weights are stored in half precision: as constants of float32 they would be twice."""
    return any(capture.value.dtype in HALVES for capture in graph.captures)


def _expansion(node: Node, used: set[Value], is_known: Callable[[Node], bool]) -> Graph | None:
    """What computes the results of a node that are used, recorded once more."""
    function = written(node)
    if function is None and not is_known(node):
        function = decomposition(node.op)
    if function is None:
        return None
    wanted = [k for k, value in enumerate(node.outputs) if value in used]
    values = list(dict.fromkeys(node.inputs))

    examples = tuple(bridge.zeros(shape_of(value), value.dtype) for value in values)
    with bridge.no_grad():
        run = over_tensors(node, function, wanted)
        recorded = trace(run, examples, dynamic=False, check=False).graph
    made = [value for value, k in zip(recorded.outputs, wanted, strict=True)
            if value.type == node.outputs[k].type]
    if len(made) != len(wanted):
        raise ProgramError(f"aot(): {node.op} in terms of others gives other shapes")
    new = dict(zip(recorded.inputs, values, strict=True))
    outputs = dict(zip(recorded.outputs, (node.outputs[k] for k in wanted), strict=True))
    nodes = [_renamed(each, new, outputs, node.where) for each in recorded.nodes]
    return replace(recorded, nodes=nodes)


def _renamed(node: Node, new: dict[Value, Value], outputs: dict[Value, Value], where: str) -> Node:
    for value in node.outputs:
        new[value] = outputs.get(value, value)
    return replace(node, args=rename(node.args, new), where=where,
                   outputs=tuple(new[value] for value in node.outputs),
                   into=tuple(new.get(value, value) for value in node.into))


def _inlined(graph: Graph, found: dict[Node, Graph]) -> Graph:
    nodes: list[Node] = []
    captures = list(graph.captures)
    names = {capture.name for capture in captures}
    for node in graph.nodes:
        made = found.get(node)
        if made is None:
            nodes.append(node)
            continue
        nodes += made.nodes
        for capture in made.captures:
            name = next(name for k in range(len(captures), 2**31)
                        if (name := f"constant{k}") not in names)
            names.add(name)
            captures.append(replace(capture, name=name, constant=True))
    return replace(graph, nodes=nodes, captures=captures)


def created(node: Node) -> Sequence[Any]:
    """The tensors that a node makes of numbers alone."""
    return bridge.call(node.op, [bridge.from_literal(arg) for arg in node.args])
