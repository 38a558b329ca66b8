"""Pass by nodes that change no bit of any result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from flambeau.jit.ir import Graph, Node, Value, rename

Rule = Callable[[Node, dict[Value, Node]], Value | None]


def algebra(graph: Graph) -> Graph:
    """Let users of a node that changes nothing use what it was given.

    Only what holds bit for bit for every input, NaN and both zeros included, has a rule. Results
    keep the node they had, so that a result never becomes one of the inputs.
    """
    producers, shown = graph.producers(), graph.shown()
    new: dict[Value, Value] = {}
    nodes = []
    for node in graph.nodes:
        node = replace(node, args=rename(node.args, new))
        nodes.append(node)
        producers.update(dict.fromkeys(node.outputs, node))
        rule = RULES.get(node.op)
        same = rule(node, producers) if rule is not None else None
        if same is not None and node.outputs[0] not in shown:
            new[node.outputs[0]] = same
    return replace(graph, nodes=nodes)


def _itself(node: Node, producers: dict[Value, Node]) -> Value | None:
    return _tensor(node.args[0])


def _whole(node: Node, producers: dict[Value, Node]) -> Value | None:
    """All elements of what it is given, in the same shape."""
    given = _tensor(node.args[0])
    is_forward = node.op != "slice" or node.args[4] == 1
    return given if is_forward and given.type == node.outputs[0].type else None


def _twice(node: Node, producers: dict[Value, Node]) -> Value | None:
    """The same operation undoes itself."""
    first = producers.get(_tensor(node.args[0]))
    if first is None or first.op != node.op:
        return None
    inner = _tensor(first.args[0])
    return inner if inner.type == node.outputs[0].type else None


def _in_order(node: Node, producers: dict[Value, Node]) -> Value | None:
    """A permutation that leaves every dimension where it is."""
    dims = node.args[1]
    return _tensor(node.args[0]) if dims == tuple(range(len(node.outputs[0].shape))) else None


def _tensor(arg: object) -> Value:
    assert isinstance(arg, Value)
    return arg


RULES: dict[str, Rule] = {
    "alias": _itself,
    "bitwise_not": _twice,
    "expand": _whole,
    "logical_not": _twice,
    "neg": _twice,
    "permute": _in_order,
    "slice": _whole,
    "view": _whole,
}
