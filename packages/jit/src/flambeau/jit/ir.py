"""The graph: values, and nodes in single-assignment order.

A ``Graph`` holds what a traced function computes, as values only: nothing is written in place
and nothing aliases. What Python wrote into a tensor that outlives the call stands in ``writes``:
at the end of a run the new value is copied into that input or captured tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flambeau.jit.dims import Size


@dataclass(frozen=True, eq=False)
class Value:
    """One tensor: assigned once, equal only to itself."""

    shape: tuple[Size, ...]
    dtype: str
    device: str = "cpu"

    def like(self) -> Value:
        """Another value of the same type."""
        return replace(self)

    @property
    def type(self) -> tuple[object, ...]:
        """Shape, dtype and device."""
        return self.shape, self.dtype, self.device


#: What a node holds for a parameter: a ``Value``, a literal (``literals``), or a tuple of these.
Arg = Any


@dataclass(eq=False)
class Node:
    """One operator applied.

    Args:
        op: key of the definition, ``name`` or ``name.overload``.
        args: one entry per parameter of the definition: a value, a tuple of values, or a literal.
        outputs: the values it assigns: the definition's outputs, then the new value of each
            parameter that the definition writes to.
        body: the region a ``fused`` node stands for.
        where: ``file:line`` of the call that was recorded.
    """

    op: str
    args: tuple[Arg, ...]
    outputs: tuple[Value, ...]
    body: Graph | None = None
    where: str = ""

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The values among the arguments, in order."""
        return tuple(values_in(self.args))


@dataclass(eq=False)
class Capture:
    """A tensor the function used without being given it, or one that a pass computed.

    Args:
        value: the value that stands for it.
        name: what it is called in print and in files.
        tensor: the tensor itself.
        constant: no one else holds it, so its contents never change.
    """

    value: Value
    name: str
    tensor: object = None
    constant: bool = False


@dataclass(eq=False)
class Graph:
    """Inputs, captured tensors, nodes in order, outputs.

    Args:
        inputs: the values given at each run.
        captures: tensors from outside.
        nodes: each uses only what stands before it.
        outputs: the values a run gives.
        writes: pairs of an input's or capture's value and what is copied into it at the end.
        symbols: the numbers each symbol stood for while the graph was recorded; it may stand
            for anything from the least of them on.
    """

    inputs: list[Value] = field(default_factory=list)
    captures: list[Capture] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    writes: list[tuple[Value, Value]] = field(default_factory=list)
    symbols: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        from flambeau.jit.printing import show_graph

        return show_graph(self)

    def results(self) -> list[Value]:
        """Everything a run must have computed at its end: outputs and what is written."""
        return [*self.outputs, *(new for _, new in self.writes)]

    def producers(self) -> dict[Value, Node]:
        """The node that assigns each value."""
        return {value: node for node in self.nodes for value in node.outputs}

    def users(self) -> dict[Value, list[Node]]:
        """The nodes that use each value, in order; each node once."""
        found: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(node.inputs):
                found.setdefault(value, []).append(node)
        return found


def values_in(args: tuple[Arg, ...]) -> Iterator[Value]:
    """The values in a tree of arguments, in order."""
    for arg in args:
        if isinstance(arg, Value):
            yield arg
        elif isinstance(arg, tuple):
            yield from values_in(arg)


def map_args(args: tuple[Arg, ...], function: Callable[[Any], Any]) -> tuple[Arg, ...]:
    """Replace every leaf of a tree of arguments."""
    return tuple(
        map_args(arg, function) if isinstance(arg, tuple) else function(arg) for arg in args
    )


def rename(args: tuple[Arg, ...], new: Mapping[Value, Value]) -> tuple[Arg, ...]:
    """Replace values in a tree of arguments."""
    return map_args(args, lambda leaf: new.get(leaf, leaf) if isinstance(leaf, Value) else leaf)
