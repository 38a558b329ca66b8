"""The reference executor: every node by calling its operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.dims import Dim
from flambeau.jit.ir import Graph, Node, Value, map_args
from flambeau.jit.literals import Slot
from flambeau.jit.opset import FUSED, VIEW_WRITE, written_params

Tensor = Any
Write = Callable[[Tensor, Tensor], None]
RunFused = Callable[[Node, Sequence[Tensor], "Scalars"], Sequence[Tensor]]


class Scalars:
    """The numbers of one run: sizes by symbol, and run-time scalars by slot."""

    def __init__(self, sizes: Mapping[str, int], slots: Sequence[object] = ()) -> None:
        self.sizes = sizes
        self.slots = slots

    def resolve(self, leaf: object) -> object:
        """A literal as a number, where it depends on the run."""
        if isinstance(leaf, Dim):
            return leaf.evaluate(self.sizes)
        return self.slots[leaf.index] if isinstance(leaf, Slot) else leaf


def run_graph(
    graph: Graph,
    inputs: Sequence[Tensor],
    captures: Sequence[Tensor],
    scalars: Scalars,
    run_fused: RunFused | None = None,
    write: Write = bridge.copy_into,
) -> list[Tensor]:
    """Run all nodes, then copy what the graph writes into its targets.

    Args:
        graph: the graph.
        inputs: a tensor for each input.
        captures: a tensor for each capture.
        scalars: the numbers of this run.
        run_fused: runs a fused node; the interpreter by default.
        write: copies a new value into its target.

    Returns:
        A tensor for each output.
    """
    values: dict[Value, Tensor] = dict(zip(graph.inputs, inputs, strict=True))
    values.update(zip((c.value for c in graph.captures), captures, strict=True))
    last = last_uses(graph)
    for number, node in enumerate(graph.nodes):
        if node.body is not None and run_fused is not None:
            results = run_fused(node, [values[v] for v in node.inputs], scalars)
        else:
            results = run_node(node, values, scalars)
        values.update(zip(node.outputs, results, strict=True))
        for value in last[number]:
            values.pop(value, None)
    outputs = [values[value] for value in graph.outputs]
    pairs = [(values[target], values[value]) for target, value in graph.writes]
    write_back(pairs, write)
    return outputs


def run_node(node: Node, values: Mapping[Value, Tensor], scalars: Scalars) -> Sequence[Tensor]:
    """One node's results; what it writes to is copied first."""
    args = map_args(
        node.args, lambda leaf: values[leaf] if isinstance(leaf, Value) else scalars.resolve(leaf)
    )
    if node.op == FUSED:
        assert node.body is not None
        return run_graph(node.body, args[0], (), scalars)
    return run_operator(node.op, args)


def run_operator(op: str, args: Sequence[Any]) -> list[Tensor]:
    """An operator's results, followed by the new value of everything it writes to."""
    if op == VIEW_WRITE:
        return [_view_write(*args)]
    written = [number for number in written_params(op) if args[number] is not None]
    if not written:
        return bridge.call(op, args)
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


def write_back(pairs: Sequence[tuple[Tensor, Tensor]], write: Write) -> None:
    """Copy new values into their targets, after saving what a copy would overwrite."""
    ready = []
    targets = {bridge.place(target) for target, _ in pairs}
    for target, value in pairs:
        if value is target:
            continue
        if len(pairs) > 1 and bridge.place(value) in targets:
            value = bridge.clone(value)
        ready.append((target, value))
    for target, value in ready:
        write(target, value)


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
