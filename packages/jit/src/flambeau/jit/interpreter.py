"""The reference executor: every node by calling its operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from flambeau.core.vision.bins import roi_pool
from flambeau.core.vision.boxes import nms
from flambeau.core.vision.points import roi_align
from flambeau.jit import bridge
from flambeau.jit.dims import Dim
from flambeau.jit.ir import Arg, Graph, Node, Value, map_args
from flambeau.jit.literals import GET_STATE, SET_SEED, SET_STATE, Slot
from flambeau.jit.opset import (
    BRANCH,
    FUSED,
    LOOP,
    NMS,
    NUMBER,
    ROI_ALIGN,
    ROI_POOL,
    VIEW_WRITE,
    is_functional,
    written_params,
)

Tensor = Any
Values = dict[Value, Tensor]
Run = Callable[[Values, "Scalars"], Sequence[Tensor]]
RunFused = Callable[[Node, Sequence[Tensor], "Scalars"], Sequence[Tensor]]


class Scalars:
    """The numbers of one run: sizes by symbol, and run-time scalars by slot."""

    def __init__(self, sizes: dict[str, int], slots: Sequence[object] = ()) -> None:
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
        history: whether runs record history, as the function did.
    """

    def __init__(
        self, graph: Graph, run_fused: RunFused | None = None, history: bool = False
    ) -> None:
        self.graph = graph
        self.outside = [*graph.inputs, *(capture.value for capture in graph.captures)]
        self.copied = _copied(graph)
        releases = last_uses(graph)
        self.found = sizes_found(graph)
        self.steps = [
            _step(node, run_fused, release, history)
            for node, release in zip(graph.nodes, releases, strict=True)
        ]

    def run(
        self, inputs: Sequence[Tensor], captures: Sequence[Tensor], scalars: Scalars
    ) -> Values:
        """Run all nodes, then copy what the graph writes into its targets.

        Args:
            inputs: a tensor for each input.
            captures: a tensor for each capture.
            scalars: the numbers of this run.

        Returns:
            A tensor for each value that is needed in the end.
        """
        values: Values = dict(zip(self.outside, (*inputs, *captures), strict=True))
        for value in self.copied:
            values[value] = bridge.clone(values[value])
        for number, step in enumerate(self.steps):
            values.update(zip(step.outputs, step.run(values, scalars), strict=True))
            for name, value, dim in self.found.get(number, ()):
                scalars.sizes.setdefault(name, values[value].shape[dim])
            for value in step.release:
                del values[value]
        pairs = [(values[target], values[value]) for target, value in self.graph.writes]
        write_back(pairs)
        return values

    def results(self, inputs: Sequence[Tensor], scalars: Scalars) -> list[Tensor]:
        """What a graph without captures gives."""
        values = self.run(inputs, (), scalars)
        return [values[value] for value in self.graph.outputs]


def _copied(graph: Graph) -> list[Value]:
    """The constants that a run may write to, or that who calls it may."""
    constants = [capture.value for capture in graph.captures if capture.constant]
    if not constants:
        return []
    shown = graph.shown() if graph.is_pure() else set(constants)
    return [value for value in constants if value in shown]


@dataclass(frozen=True, slots=True)
class _Step:
    """One node: how to run it, what it assigns, and what nothing needs afterwards."""

    run: Callable[[Values, Scalars], Sequence[Tensor]]
    outputs: tuple[Value, ...]
    release: list[Value]


def _step(
    node: Node, run_fused: RunFused | None, release: list[Value], history: bool
) -> _Step:
    if node.op != FUSED:
        make = partial(_flow, run_fused=run_fused, history=history) if node.regions else _operator
        run = make(node)
        run = _with_history(node, run, make) if history else run
    elif run_fused is None:
        run = _region(node)
    else:
        run = _machine(node, run_fused)
    return _Step(run, node.outputs, release)


def _flow(node: Node, run_fused: RunFused | None, history: bool) -> Run:
    """A branch or loop, by executors of its graphs."""
    first, second = (Executor(region, run_fused, history) for region in node.regions)
    if node.op == LOOP:
        carried, others = node.args

        def repeat(values: Values, scalars: Scalars) -> list[Tensor]:
            now, rest = [values[v] for v in carried], [values[v] for v in others]
            while bool(first.results([*now, *rest], scalars)[0]):
                now = second.results([*now, *rest], scalars)
            return now

        return repeat
    assert node.op == BRANCH
    condition, inputs = node.args

    def choose(values: Values, scalars: Scalars) -> list[Tensor]:
        taken = first if bool(values[condition]) else second
        return taken.results([values[value] for value in inputs], scalars)

    return choose


def _operator(node: Node) -> Run:
    op, readers = node.op, [_reader(arg) for arg in node.args]
    if op in (GET_STATE, SET_STATE, SET_SEED):
        return lambda values, scalars: bridge.random_state(
            op, *(read(values, scalars) for read in readers))
    if node.into:
        into = node.into
        return lambda values, scalars: bridge.call_ready(
            op, [read(values, scalars) for read in readers], [values[value] for value in into])
    call = run_operator if op in _OWN or is_functional(node) else bridge.call_ready
    return lambda values, scalars: call(op, [read(values, scalars) for read in readers])


def _with_history(node: Node, run: Run, make: Callable[[Node], Run]) -> Run:
    """Record what the function recorded: nothing under no_grad(), nothing for detached tensors."""
    inputs, recorded = node.inputs, set(node.history)
    detached = [value for i, value in enumerate(inputs)
                if i not in recorded and value not in node.into]
    kept = {inputs[i] for i in recorded}
    if not recorded:
        return lambda values, scalars: bridge.without_history(run, values, scalars)
    if not detached:
        return run
    if kept.isdisjoint(detached):
        return lambda values, scalars: run(
            {**{v: values[v] for v in (*kept, *node.into)},
             **{v: values[v].detach() for v in detached}}, scalars)
    # A tensor and the same one detached: give the second a name of its own.
    twins = {value: value.like() for value in detached}
    places = iter(range(len(inputs)))
    args = map_args(node.args, lambda leaf: leaf if not isinstance(leaf, Value) else (
        twins.get(leaf, leaf) if next(places) not in recorded else leaf))
    split = make(replace(node, args=args))
    return lambda values, scalars: split(
        {**values, **{twins[v]: values[v].detach() for v in twins}}, scalars)


def _region(node: Node) -> Run:
    assert node.body is not None
    inner, inputs = Executor(node.body), node.inputs
    return lambda values, scalars: inner.results([values[value] for value in inputs], scalars)


def _machine(node: Node, run_fused: RunFused) -> Run:
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
    values = Executor(graph).run(inputs, captures, scalars)
    return [values[value] for value in graph.outputs]


def run_operator(op: str, args: Sequence[Any]) -> list[Tensor]:
    """An operator's results, followed by the new value of everything it writes to."""
    if op in _OWN:
        found = _OWN[op](*args)
        return list(found) if isinstance(found, tuple) else [found]
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


#: Operators of programs alone.
_OWN: dict[str, Callable[..., Any]] = {
    VIEW_WRITE: _view_write, NMS: nms, NUMBER: lambda x: bridge.arange(int(x)),
    ROI_ALIGN: roi_align, ROI_POOL: roi_pool}


def sizes_found(graph: Graph) -> dict[int, list[tuple[str, Value, int]]]:
    """By number of the node: the sizes that its results decide, each with a result and dimension.

    They are those that no input has: how many elements there are depends on values.
    """
    known = {name for value in graph.inputs for size in value.shape if isinstance(size, Dim)
             for name in size.names}
    found: dict[int, list[tuple[str, Value, int]]] = {}
    for number, node in enumerate(graph.nodes):
        for value in node.outputs:
            for dim, size in enumerate(value.shape):
                if isinstance(size, Dim) and str(size) in graph.symbols and str(size) not in known:
                    known.add(str(size))
                    found.setdefault(number, []).append((str(size), value, dim))
    return found


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
    needed.update(grad.leaf for grad in graph.grads)
    for node in reversed(graph.nodes):
        free = dict.fromkeys(v for v in (*node.inputs, *node.outputs) if v not in needed)
        needed.update(free)
        found.append(list(free))
    return found[::-1]
