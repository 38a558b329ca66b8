"""Where each value of a graph lies, while its nodes become steps."""

from __future__ import annotations

from flambeau.jit.ahead.fixed import shape_of
from flambeau.jit.ahead.pointwise import add_region, region_of
from flambeau.jit.ahead.unit import Place, Unit
from flambeau.jit.ahead.views import VIEWS
from flambeau.jit.ir import Graph, Node, Value
from flambeau.jit.itemsizes import SIZE


class NotThisError(Exception):
    """What an operator's machine code does not do."""


class Scope:
    """Values and their places.

    Args:
        unit: where steps are added.
        graph: the graph.
    """

    def __init__(self, unit: Unit, graph: Graph) -> None:
        self.unit = unit
        self.places: dict[Value, Place] = {}
        self.view_results = {value for node in graph.nodes if node.op in VIEWS
                             for value in node.outputs}
        self.used = {value for node in graph.nodes for value in node.inputs} | set(graph.outputs)
        self.has_writes = any(node.into for node in graph.nodes)
        self.written = _in_written_memory(graph)
        self.number = 0
        self._last = _last_uses(graph)
        self._reused: dict[object, int] = {}

    def place(self, value: Value) -> Place:
        """Where a value lies."""
        return self.places[value]

    def is_used(self, value: Value) -> bool:
        """Whether anything reads a value."""
        return value in self.used

    def new(self, value: Value) -> Place:
        """New memory for a value, unless it has its own already, as results do."""
        if value not in self.places:
            self.places[value] = self.unit.temporary(value.dtype, shape_of(value))
        self._note(value)
        return self.places[value]

    def can_overwrite(self, place: Place, value: Value) -> bool:
        """Whether nothing reads a place after this node, and a value fits it exactly."""
        return (value not in self.places and place.buffer.kind == "arena" and place.is_dense()
                and place.shape == value.shape and SIZE[place.dtype] == SIZE[value.dtype]
                and place.buffer.bytes == place.numel * SIZE[place.dtype]
                and self._reused.get(place.buffer, -1) <= self.number)

    def reuse(self, value: Value, place: Place) -> Place:
        """Let a value lie where another ends."""
        self.places[value] = Place(place.buffer, value.dtype, shape_of(value), place.strides)
        self._note(value)
        return self.places[value]

    def is_alone(self, node: Node, target: Place) -> bool:
        """Whether a node's first argument is its target, and no other one lies in that memory."""
        others = [value for value in node.inputs if value is not node.args[0]]
        return (self.places[node.args[0]] == target and target.is_dense()
                and all(self.places[value].buffer is not target.buffer for value in others))

    def dense(self, value: Value) -> Place:
        """A value in C order: where it lies, or a copy."""
        place = self.places[value]
        return place if place.is_dense() else self.copy(place)

    def copy(self, place: Place) -> Place:
        """A copy in C order."""
        to = self.unit.temporary(place.dtype, place.shape)
        self.copy_to(place, to)
        return to

    def copy_to(self, place: Place, to: Place) -> None:
        """Copy elements; bools as bytes."""
        dtype = "uint8" if place.dtype == "bool" else place.dtype
        value, result = Value(place.shape, dtype), Value(place.shape, dtype)
        body = region_of(Node("contiguous_copy", (value,), (result,)))
        add_region(self.unit, body, [as_type(place, dtype)], [as_type(to, dtype)])

    def _note(self, value: Value) -> None:
        """Remember until when a buffer is read."""
        buffer = self.places[value].buffer
        self._reused[buffer] = max(self._reused.get(buffer, -1), self._last.get(value, -1))


def as_type(place: Place, dtype: str) -> Place:
    """The same memory as another dtype of this size."""
    return Place(place.buffer, dtype, place.shape, place.strides, place.start)


def _in_written_memory(graph: Graph) -> set[Value]:
    """The values whose memory is written to by some node."""
    roots: dict[Value, Value] = {}
    found = set()
    for node in graph.nodes:
        for target, value in zip(node.into, node.outputs, strict=False):
            roots[value] = roots.get(target, target)
            found.add(roots[value])
        if not node.into and node.op in VIEWS:
            (source, *_) = node.inputs
            roots[node.outputs[0]] = roots.get(source, source)
    return found | {value for value, root in roots.items() if root in found}


def _last_uses(graph: Graph) -> dict[Value, int]:
    """For each value the last node that reads its memory, by way of views and writes too."""
    last: dict[Value, int] = dict.fromkeys(graph.outputs, len(graph.nodes))
    for number, node in reversed(list(enumerate(graph.nodes))):
        for value in node.inputs:
            is_same = node.op in VIEWS or value in node.into
            later = [last.get(each, number) for each in node.outputs] if is_same else []
            last[value] = max([last.get(value, number), number, *later])
    return last
