"""The reference executor: every node by calling its operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.dims import Dim
from flambeau.jit.ir import Arg, Graph, Node, Value, map_args
from flambeau.jit.literals import Slot
from flambeau.jit.opset import FUSED, VIEW_WRITE, written_params

Tensor = Any
Values = dict[Value, Tensor]
RunFused = Callable[[Node, Sequence[Tensor], "Scalars"], Sequence[Tensor]]


class Scalars:
    """The numbers of one run: sizes by symbol, and run-time scalars by slot."""

    def __init__(self, sizes: Mapping[str, int], slots: Sequence[object] = ()) -> None:
        self.sizes = sizes
        self.slots = slots

    def resolve(self, leaf: Dim | Slot) -> object:
        """The number a literal stands for in this run."""
        return leaf.evaluate(self.sizes) if isinstance(leaf, Dim) else self.slots[leaf.index]


class Executor:
    """A graph, ready to run many times.

    Args:
        graph: the graph; it must not change any more.
        run_fused: runs a fused node; the interpreter by default.
    """

    def __init__(self, graph: Graph, run_fused: RunFused | None = None) -> None:
        self.graph = graph
        self.outside = [*graph.inputs, *(capture.value for capture in graph.captures)]
        releases = last_uses(graph)
        self.steps = [
            _step(node, run_fused, release)
            for node, release in zip(graph.nodes, releases, strict=True)
        ]

    def run(
        self, inputs: Sequence[Tensor], captures: Sequence[Tensor], scalars: Scalars
    ) -> list[Tensor]:
        """Run all nodes, then copy what the graph writes into its targets.

        Args:
            inputs: a tensor for each input.
            captures: a tensor for each capture.
            scalars: the numbers of this run.

        Returns:
            A tensor for each output.
        """
        values: Values = dict(zip(self.outside, (*inputs, *captures), strict=True))
        for step in self.steps:
            values.update(zip(step.outputs, step.run(values, scalars), strict=True))
            for value in step.release:
                del values[value]
        pairs = [(values[target], values[value]) for target, value in self.graph.writes]
        write_back(pairs)
        return [values[value] for value in self.graph.outputs]


@dataclass(frozen=True, slots=True)
class _Step:
    """One node: how to run it, what it assigns, and what nothing needs afterwards."""

    run: Callable[[Values, Scalars], Sequence[Tensor]]
    outputs: tuple[Value, ...]
    release: list[Value]


def _step(node: Node, run_fused: RunFused | None, release: list[Value]) -> _Step:
    if node.op != FUSED:
        run = _operator(node.op, [_reader(arg) for arg in node.args])
    elif run_fused is None:
        run = _region(node)
    else:
        run = _machine(node, run_fused)
    return _Step(run, node.outputs, release)


def _operator(op: str, readers: list[Reader]) -> Callable[[Values, Scalars], Sequence[Tensor]]:
    call = run_operator if op == VIEW_WRITE or written_params(op) else bridge.call_ready
    return lambda values, scalars: call(op, [read(values, scalars) for read in readers])


def _region(node: Node) -> Callable[[Values, Scalars], Sequence[Tensor]]:
    assert node.body is not None
    inner, inputs = Executor(node.body), node.inputs
    return lambda values, scalars: inner.run([values[value] for value in inputs], (), scalars)


def _machine(node: Node, run_fused: RunFused) -> Callable[[Values, Scalars], Sequence[Tensor]]:
    inputs = node.inputs
    return lambda values, scalars: run_fused(node, [values[value] for value in inputs], scalars)


Reader = Callable[[Values, Scalars], Any]


def _reader(arg: Arg) -> Reader:
    """How to get an argument in a run, as the core takes it."""
    if isinstance(arg, Value):
        return lambda values, scalars: values[arg]
    if isinstance(arg, Dim | Slot):
        return lambda values, scalars: scalars.resolve(arg)
    if _is_fixed(arg):
        fixed = bridge.from_literal(arg)
        return lambda values, scalars: fixed
    readers = [_reader(item) for item in arg]
    return lambda values, scalars: [read(values, scalars) for read in readers]


def _is_fixed(arg: Arg) -> bool:
    found: list[object] = []
    map_args((arg,), found.append)
    return not any(isinstance(leaf, Value | Dim | Slot) for leaf in found)


def run_graph(
    graph: Graph, inputs: Sequence[Tensor], captures: Sequence[Tensor], scalars: Scalars
) -> list[Tensor]:
    """Run a graph once, by the interpreter alone."""
    return Executor(graph).run(inputs, captures, scalars)


def run_operator(op: str, args: Sequence[Any]) -> list[Tensor]:
    """An operator's results, followed by the new value of everything it writes to."""
    if op == VIEW_WRITE:
        return [_view_write(*args)]
    written = [number for number in written_params(op) if args[number] is not None]
    args = list(args)
    for number in written:
        args[number] = bridge.clone(args[number])
    return [*bridge.call(op, args), *(args[number] for number in written)]


def _view_write(base: Tensor, new: Tensor, steps: Sequence[Sequence[Any]]) -> Tensor:
    """A copy of the base with the elements that the views show replaced."""
    result = part = bridge.clone(base)
    for op, *args in steps:
        part = bridge.call(op, [part, *args])[0]
    bridge.copy_into(part, new)
    return result


def write_back(pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
    """Copy new values into their targets, after saving what a copy would overwrite."""
    ready = []
    targets = {bridge.memory_address(target) for target, _ in pairs}
    for target, value in pairs:
        if value is target:
            continue
        if len(pairs) > 1 and bridge.memory_address(value) in targets:
            value = bridge.clone(value)
        ready.append((target, value))
    for target, value in ready:
        bridge.copy_into(target, value)


def last_uses(graph: Graph) -> list[list[Value]]:
    """For each node the values that nothing after it needs."""
    found: list[list[Value]] = []
    needed = set(graph.results())
    needed.update(target for target, _ in graph.writes)
    for node in reversed(graph.nodes):
        free = dict.fromkeys(v for v in (*node.inputs, *node.outputs) if v not in needed)
        needed.update(free)
        found.append(list(free))
    return found[::-1]
