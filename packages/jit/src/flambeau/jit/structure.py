"""A graph as nested tuples: equal for graphs that do the same, cheap to make and to hash."""

from __future__ import annotations

from collections.abc import Hashable

from flambeau.jit.ir import Graph, Value


def structure(graph: Graph) -> Hashable:
    """The key under which ``compile`` keeps what it made of a graph.

    Run-time scalars count by their kind, captured tensors by their type.
    """
    numbers: dict[Value, int] = {}
    outside = [*graph.inputs, *(capture.value for capture in graph.captures)]
    for value in outside:
        numbers[value] = len(numbers)
    nodes = []
    for node in graph.nodes:
        nodes.append((node.op, _args(node.args, numbers), tuple(v.type for v in node.outputs)))
        for value in node.outputs:
            numbers[value] = len(numbers)
    return (
        len(graph.inputs),
        tuple(value.type for value in outside),
        tuple(nodes),
        tuple(numbers[value] for value in graph.outputs),
        tuple((numbers[target], numbers[value]) for target, value in graph.writes),
    )


def _args(args: tuple[object, ...], numbers: dict[Value, int]) -> tuple[object, ...]:
    """Arguments with values by number, and 1, 1.0, True and -0.0 kept apart."""
    return tuple(
        ("value", numbers[arg]) if isinstance(arg, Value)
        else _args(arg, numbers) if isinstance(arg, tuple)
        else (type(arg), repr(arg)) if isinstance(arg, float | complex)
        else (type(arg), arg)
        for arg in args
    )
