"""Gather neighbouring pointwise nodes into regions that run as one loop.

A region's nodes have results of one shape on one device; what they read may be broadcast. A
node joins the region of a node it reads from when no path leads out of the region and back in.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from flambeau.jit.ir import Graph, Node, Value, rename
from flambeau.jit.opset import FUSED, is_random
from flambeau.jit.region import can_lower

MAX_NODES = 64
MAX_OPERANDS = 24


def fusion(graph: Graph) -> Graph:
    """Replace regions of two nodes and more by ``fused`` nodes that hold them as their body."""
    groups = _Grouping(graph)
    for node in graph.nodes:
        groups.add(node)
    wanted = _wanted_outside(graph, groups.group)
    nodes = [_fuse(graph, group.nodes, wanted) for group in groups.in_order()]
    return replace(graph, nodes=nodes)


def unfusion(graph: Graph) -> Graph:
    """The nodes of regions as nodes of the graph, which other passes look at one by one."""
    nodes = [each for node in graph.nodes for each in (_inside(node) if node.body else [node])]
    return replace(graph, nodes=nodes)


def _inside(node: Node) -> list[Node]:
    body, (read,) = node.body, node.args
    assert body is not None and isinstance(read, tuple)
    new = {value: value.like() for inner in body.nodes for value in inner.outputs}
    new.update(zip(body.outputs, node.outputs, strict=True))
    new.update(zip(body.inputs, read, strict=True))
    return [replace(inner, args=rename(inner.args, new),
                    outputs=tuple(new[value] for value in inner.outputs)) for inner in body.nodes]


@dataclass(eq=False)
class _Group:
    nodes: list[Node] = field(default_factory=list)
    shape: tuple[object, ...] | None = None


class _Grouping:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.number = {node: i for i, node in enumerate(graph.nodes)}
        self.group: dict[Node, _Group] = {}
        producers = graph.producers()
        self.inputs = {node: tuple(dict.fromkeys(node.inputs)) for node in graph.nodes}
        self.producers = producers
        before = _random_order(graph)
        # The nodes that must run before each.
        self.reads = {
            node: [producers[value] for value in inputs if value in producers]
            + ([before[node]] if node in before else [])
            for node, inputs in self.inputs.items()}

    def add(self, node: Node) -> None:
        """Put a node into a group of its own, then merge it with those it reads from."""
        fits = node.body is None and can_lower(node)
        shape = (*node.outputs[0].shape, node.outputs[0].device) if fits else None
        group = self.group[node] = _Group([node], shape)
        if not fits:
            return
        for value in self.inputs[node]:
            producer = self.producers.get(value)
            if producer is not None:
                group = self.merge(self.group[producer], group)

    def merge(self, one: _Group, other: _Group) -> _Group:
        if one is other or one.shape is None or one.shape != other.shape:
            return other
        nodes = sorted(one.nodes + other.nodes, key=self.number.__getitem__)
        if not self.is_allowed(nodes):
            return other
        union = _Group(nodes, one.shape)
        for node in nodes:
            self.group[node] = union
        return union

    def is_allowed(self, nodes: list[Node]) -> bool:
        """Whether they may run as one: small enough, and no path leaves and comes back."""
        if len(nodes) > MAX_NODES:
            return False
        inside = set(nodes)
        operands = {v for n in nodes for v in self.inputs[n] if self.producers.get(v) not in inside}
        if len(operands) > MAX_OPERANDS:
            return False
        first = self.cut_before(self.number[nodes[0]])
        stack = [n for node in nodes for n in self.reads[node] if n not in inside]
        seen: set[Node] = set()
        while stack:
            node = stack.pop()
            if node in inside:
                return False
            if node not in seen and self.number[node] >= first:
                group = self.group[node].nodes
                seen.update(group)
                stack += [before for member in group for before in self.reads[member]]
        return True

    def cut_before(self, number: int) -> int:
        """The last place up to a node's that no group lies on both sides of.

        No path leads from before it to behind it, so a walk back may end there.
        """
        nodes, end = self.graph.nodes, len(self.group)
        while True:
            first = min(self.number[self.group[node].nodes[0]] for node in nodes[number:end])
            if first >= number:
                return number
            number, end = first, number

    def in_order(self) -> Iterator[_Group]:
        """Groups so that each comes after what it reads; ties as in the graph."""
        groups = list(dict.fromkeys(self.group[node] for node in self.graph.nodes))
        after: dict[_Group, set[_Group]] = {group: set() for group in groups}
        waits: dict[_Group, int] = {}
        for group in groups:
            needs = {self.group[n] for node in group.nodes for n in self.reads[node]} - {group}
            waits[group] = len(needs)
            for need in needs:
                after[need].add(group)
        position = {group: self.number[group.nodes[0]] for group in groups}
        by_position = {number: group for group, number in position.items()}
        ready = [position[group] for group in groups if not waits[group]]
        heapq.heapify(ready)
        while ready:
            group = by_position[heapq.heappop(ready)]
            yield group
            for later in after[group]:
                waits[later] -= 1
                if not waits[later]:
                    heapq.heappush(ready, position[later])


def _random_order(graph: Graph) -> dict[Node, Node]:
    """For each node that draws random numbers, the one that draws before it."""
    drawing = [node for node in graph.nodes if is_random(node.op)]
    return dict(zip(drawing[1:], drawing[:-1], strict=True))


def _wanted_outside(graph: Graph, group: dict[Node, _Group]) -> set[Value]:
    """The values that results or nodes of other groups read."""
    producers = graph.producers()
    wanted = set(graph.results())
    for node in graph.nodes:
        for value in node.inputs:
            if value in producers and group[producers[value]] is not group[node]:
                wanted.add(value)
    return wanted


def _fuse(graph: Graph, nodes: list[Node], wanted: set[Value]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    made = [value for node in nodes for value in node.outputs]
    inside = set(made)
    read = tuple(dict.fromkeys(v for node in nodes for v in node.inputs if v not in inside))
    outputs = tuple(value for value in made if value in wanted) or tuple(made[-1:])
    return Node(FUSED, (read,), outputs, _region(graph, nodes, read, outputs), nodes[0].where)


def _region(
    graph: Graph, nodes: list[Node], inputs: tuple[Value, ...], outputs: tuple[Value, ...]
) -> Graph:
    """The nodes as a graph with values of its own."""
    made = [value for node in nodes for value in node.outputs]
    new = {value: value.like() for value in (*inputs, *made)}
    inside = [
        replace(node, args=rename(node.args, new), outputs=tuple(new[v] for v in node.outputs))
        for node in nodes
    ]
    return Graph(
        inputs=[new[value] for value in inputs],
        nodes=inside,
        outputs=[new[value] for value in outputs],
        symbols=dict(graph.symbols),
    )
