"""A graph with a number for every size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from flambeau.jit.dims import Dim, shape_for
from flambeau.jit.errors import ProgramError
from flambeau.jit.ir import Graph, Node, Value, map_args


def fixed(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph for certain sizes.

    Args:
        graph: one that only computes.
        sizes: what each symbol stands for.

    Raises:
        ProgramError: a symbol has no number, or one that the program refuses, or 0.
    """
    _check(graph, sizes)
    return _Fixer(dict(sizes)).graph(graph)


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a value of a fixed graph."""
    return cast("tuple[int, ...]", value.shape)


def _check(graph: Graph, sizes: Mapping[str, int]) -> None:
    names = sorted({name for value in graph.inputs for size in value.shape
                    if isinstance(size, Dim) for name in size.names})
    for node in graph.nodes:
        for value in node.outputs:
            if found := [size for size in value.shape if isinstance(size, Dim)
                         and not {*size.names} <= {*names}]:
                raise ProgramError(
                    f"{node.where or 'aot()'}: machine code has fixed sizes, and the size "
                    f"{found[0]} of a result of {node.op}() depends on values: save the program "
                    "and run it by the runtime (flambeau-run), or select with where()")
    if missing := [name for name in names if name not in sizes]:
        given = ", ".join(f'"{name}": 1' for name in missing)
        raise ProgramError(
            f"aot(): machine code has fixed sizes, and {', '.join(missing)} may vary in this "
            f"program; say which: jit.aot(..., sizes={{{given}}}), or trace with dynamic=False")
    if unknown := sorted(set(sizes) - set(names)):
        raise ProgramError(f"aot(): sizes names {', '.join(unknown)}, which this program does not "
                           f"have; it has {', '.join(names) or 'fixed sizes only'}")
    for name in names:
        if sizes[name] not in graph.range_of(name) or sizes[name] < 1:
            allowed = graph.range_of(name)
            raise ProgramError(
                f"aot(): {name}={sizes[name]} is none of the sizes the program was made for, "
                f"{max(allowed.start, 1)} and above"
                + (f" to {allowed.stop - 1}" if allowed.stop < 2**62 else ""))


class _Fixer:
    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.made: dict[Value, Value] = {}

    def value(self, value: Value) -> Value:
        if value not in self.made:
            self.made[value] = replace(value, shape=shape_for(value.shape, self.sizes))
        return self.made[value]

    def leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, Value):
            return self.value(leaf)
        return leaf.evaluate(self.sizes) if isinstance(leaf, Dim) else leaf

    def node(self, node: Node) -> Node:
        return replace(node, args=map_args(node.args, self.leaf),
                       outputs=tuple(map(self.value, node.outputs)),
                       into=tuple(map(self.value, node.into)),
                       body=None if node.body is None else self.graph(node.body))

    def graph(self, graph: Graph) -> Graph:
        captures = [replace(each, value=self.value(each.value)) for each in graph.captures]
        return replace(
            graph, inputs=[self.value(each) for each in graph.inputs], captures=captures,
            nodes=[self.node(node) for node in graph.nodes],
            outputs=[self.value(each) for each in graph.outputs])
