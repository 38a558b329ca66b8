"""Bodies of branches and loops while a function is recorded: each is a graph of its own.

A body is recorded like anything else, into a list of nodes of its own. What it uses from outside
becomes an input of its graph. What it makes is known in it alone, so that a tensor that leaves by
another way than as a result is an error, not a stale value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.dims import shape_for
from flambeau.jit.errors import TraceError
from flambeau.jit.ir import Graph, Value, rename
from flambeau.jit.locations import caller
from flambeau.jit.opset import BRANCH, LOOP
from flambeau.jit.recording.recorder import Geometry, Memory, Recorder

Tensor = Any


@contextmanager
def quiet(recorder: Recorder) -> Iterator[None]:
    """Calls are made, not recorded."""
    before, recorder.busy = recorder.busy, True
    try:
        yield
    finally:
        recorder.busy = before


class Region:
    """One body; it may be entered several times.

    Args:
        recorder: what records.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.nodes: list[Any] = []
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.shared: list[bool] = []
        self.with_history: set[Value] = set()
        self._over: list[Memory] = []
        self._known: list[tuple[Memory, Geometry, Value]] = []
        self._outside: Any = None

    def __enter__(self) -> Region:
        recorder = self.recorder
        self._outside = recorder.graph.nodes, recorder.region
        recorder.graph.nodes, recorder.region = self.nodes, self
        for memory in self._over:
            memory.is_over = False
        for memory, layout, value in self._known:
            memory.values[layout] = value
        return self

    def __exit__(self, *error: object) -> None:
        recorder = self.recorder
        recorder.graph.nodes, recorder.region = self._outside
        made = self.made()
        self._known = [(memory, layout, value) for memory in recorder.memories.values()
                       for layout, value in memory.values.items() if value in made]
        for memory, layout, _ in self._known:
            del memory.values[layout]
        self._over = [m for m in recorder.memories.values() if m.value in made]
        for memory in self._over:
            memory.is_over = True

    def made(self) -> set[Value]:
        """What is known in the body alone."""
        return {*self.inputs, *(value for node in self.nodes for value in node.outputs)}

    def stand_in(self, tensor: Tensor, requires_grad: bool) -> Tensor:
        """A tensor of the same type that is another one in each step; call it inside."""
        recorder = self.recorder
        with quiet(recorder):
            value = bridge.value_of(tensor)
            made = bridge.empty_on(shape_for(value.shape, {}), value.dtype, value.device)
            self.inputs.append(value)
            # In the first step it is the tensor from outside, which must not be written to.
            recorder.add_memory(made, value, where=caller()).is_shared = True
            if requires_grad:
                made.requires_grad = True
                recorder.live.add(value)
        return made

    def give(self, tensors: Sequence[Tensor]) -> None:
        """Have tensors as the body's outputs; call it inside."""
        for tensor in tensors:
            tensor = tensor.contiguous()
            with quiet(self.recorder):
                value = self.recorder.value_of(tensor)
                memory = self.recorder.memory_of(tensor)
            self.outputs.append(value)
            self.shared.append(memory is None or memory.region is not self or memory.is_shared)
            if tensor.requires_grad:
                self.with_history.add(value)

    def outside(self) -> dict[Value, None]:
        """What the body uses from outside, in order."""
        made = self.made()
        used = [value for node in self.nodes for value in node.inputs]
        return dict.fromkeys(value for value in (*used, *self.outputs) if value not in made)

    def histories(self) -> set[Value]:
        """The values whose history the body continues."""
        return self.with_history | {node.inputs[i] for node in self.nodes for i in node.history}

    def graph(self, outside: Sequence[Value]) -> Graph:
        """The body as a graph of its own inputs and of what both bodies use from outside."""
        new = {value: value.like() for value in outside}
        nodes = [replace(node, args=rename(node.args, new),
                         into=tuple(new.get(value, value) for value in node.into))
                 for node in self.nodes]
        return Graph(inputs=[*self.inputs, *new.values()], nodes=nodes,
                     outputs=[new.get(value, value) for value in self.outputs])


def branch(recorder: Recorder, condition: Tensor, regions: Sequence[Region]) -> list[Tensor]:
    """A node that runs one of two bodies, which gave outputs of the same types."""
    with quiet(recorder):
        value = recorder.value_of(condition)
    outside = list(regions[0].outside() | regions[1].outside())
    return _emit(recorder, BRANCH, (value, tuple(outside)), regions, outside)


def loop(recorder: Recorder, carried: Sequence[Tensor], regions: Sequence[Region]) -> list[Tensor]:
    """A node that runs the second body as long as the first one gives true."""
    with quiet(recorder):
        values = tuple(recorder.value_of(tensor) for tensor in carried)
    outside = list(regions[0].outside() | regions[1].outside())
    starts = [tensor.requires_grad for tensor in carried]
    return _emit(recorder, LOOP, (values, tuple(outside)), regions, outside, starts)


def _emit(recorder: Recorder, op: str, args: tuple[Any, ...], regions: Sequence[Region],
          outside: Sequence[Value], starts: Sequence[bool] = (False,)) -> list[Tensor]:
    """The node, and tensors that stand for its results."""
    used = regions[0].histories() | regions[1].histories()
    requires = [*starts, *(value in used for value in outside)]
    history = tuple(i for i, each in enumerate(requires) if each and bridge.is_grad_enabled())
    outputs = recorder.emit(op, args, regions[1].outputs, (), history)
    recorder.graph.nodes[-1].regions = tuple(region.graph(outside) for region in regions)
    giving = regions if op == BRANCH else regions[1:]
    results = []
    for i, value in enumerate(outputs):
        is_shared = op == LOOP or any(region.shared[i] for region in giving)
        grad = any(region.outputs[i] in region.with_history for region in giving)
        results.append(_result(recorder, value, is_shared, grad))
    return results


def _refuse_backward(grad: Tensor) -> None:
    """The history of a branch or loop is that of a run: while it is recorded there is none."""
    raise refuse("backward() through a branch or loop cannot be part of a program; call it on what "
                 "the program gives")


def _result(recorder: Recorder, value: Value, is_shared: bool, requires_grad: bool) -> Tensor:
    with quiet(recorder):
        made = bridge.empty_on(shape_for(value.shape, {}), value.dtype, value.device)
        recorder.add_memory(made, value, where=caller()).is_shared = is_shared
        if requires_grad:
            made.requires_grad = True
            recorder.live.add(value)
            made.register_hook(_refuse_backward)
    return made


def refuse(why: str) -> TraceError:
    """An error at the line of the user's that is running."""
    return TraceError(f"{caller()}: {why}")
