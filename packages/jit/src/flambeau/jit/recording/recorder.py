"""Records what Python does to tensors as a graph, without computing.

Every operator call arrives here below autograd. Results are made from what ``infer`` says, on
memory that is not filled; views are made for real, since they touch no data. So recording has no
side effects: no generator moves, no statistics are updated.

A node writes where Python wrote, and what shares memory when recorded shares it in every run: the
graph holds no model of aliases. What the recorder has to know is only which value a tensor is. It
asks where the tensor lies and how it is laid out, never which object it is: ``detach()``, saved
tensors and the like are other objects over the same elements.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flambeau.core.opdefs import OpDef
from flambeau.jit import bridge
from flambeau.jit.errors import TraceError
from flambeau.jit.inference import infer_specs
from flambeau.jit.ir import Arg, Capture, Graph, Node, Value
from flambeau.jit.literals import Opaque
from flambeau.jit.locations import caller
from flambeau.jit.opset import find_opdef, written_numbers
from flambeau.jit.recording.events import Events
from flambeau.jit.recording.traced_sizes import Log
from flambeau.jit.recording.value_sizes import (
    EXTREMES,
    ValueSizes,
    found,
    never_empty,
    shortened,
)

if TYPE_CHECKING:
    from flambeau.jit.recording.regions import Region

Tensor = Any
Geometry = tuple[int, tuple[int, ...], tuple[int, ...], str]


@dataclass(eq=False)
class Memory:
    """One piece of memory.

    Args:
        root: a tensor over it that no one else holds, so that nothing else is allocated there.
        value: what the root is.
        where: the line that made it; empty when it was there before.
        is_input: whether it is another one in each run.
        is_written: whether a write was recorded, so that what lies there is not what will.
        values: the tensors met over it, by their layout.
        region: the body of a branch or loop that it was made in.
        is_over: whether that body has ended, where nothing else may use it.
        is_shared: whether it stands for a result that may be a tensor from before a branch or loop.
    """

    root: Tensor
    value: Value
    where: str = ""
    is_input: bool = False
    is_written: bool = False
    values: dict[Geometry, Value] = field(default_factory=dict)
    region: Region | None = None
    is_over: bool = False
    is_shared: bool = False

    @property
    def is_held(self) -> bool:
        """Whether anyone but this recording has a tensor over the memory."""
        return bridge.storage_refcount(self.root) > 1


class Recorder:
    """The graph being recorded.

    Args:
        names: names of captured tensors, by ``id``.
        compute: run the operators too, so that values can be read.
        value_sizes: sizes for results whose shapes depend on values; without, these are refused.
    """

    def __init__(self, names: Mapping[int, str] | None = None, compute: bool = False,
                 value_sizes: ValueSizes | None = None) -> None:
        self.names = names or {}
        self.compute = compute
        self.value_sizes = value_sizes
        self.graph = Graph(defaults=bridge.defaults(),
                           compared=[] if value_sizes is None else Log())
        self.memories: dict[int, Memory] = {}
        self.born: dict[int, weakref.ref[Tensor]] = {}
        self.saved: list[tuple[Tensor, Tensor]] = []
        self.live: set[Value] = set()
        self.events = Events(self)
        self.busy = False
        self.region: Region | None = None
        #: What stands for Python's numbers that values change.
        self.numbers: set[Value] = set()

    # ---- what the core and ``trace`` call ----

    def add_input(self, tensor: Tensor) -> None:
        """Declare a tensor as the next input."""
        value = bridge.value_of(tensor)
        self.graph.inputs.append(value)
        self.graph.input_requires.append(tensor.requires_grad)
        self.events.note_leaf(tensor, value)
        self.add_memory(tensor, value).is_input = True

    def call(self, op: object, args: Sequence[Any], outs: Sequence[Tensor] | None) -> list[Tensor]:
        """What the core calls instead of an operator."""
        key = bridge.key_of(op)
        if self.busy:
            return bridge.call_below(key, args, outs)
        self.busy = True
        try:
            return self.record(key, args, outs)
        finally:
            self.busy = False

    def finish(self, outputs: Sequence[Tensor]) -> Graph:
        """The graph, once Python has returned."""
        self.busy = True
        met: list[Tensor] = []
        for tensor in outputs:
            value = self.result(tensor)
            # What is another tensor over the same elements stays another one.
            if not any(tensor is other for other in met) and (
                    value in self.graph.outputs or self.is_another(tensor, value)):
                value = self.emit("alias", (value,), [value])[0]
            if tensor.is_inference() and not bridge.is_inference_mode():
                self.events.refuse("returns a tensor made in inference mode, which a program does "
                                   "not make: clone() it, or trace under inference_mode()")
            met.append(tensor)
            self.graph.outputs.append(value)
            self.graph.requires.append(tensor.requires_grad)
            self.check_history(tensor, value)
        self.events.finish()
        return self.graph

    def result(self, tensor: Tensor) -> Value:
        """What a result is: where it is an input or captured itself, not a view of the same."""
        value = self.value_of(tensor)
        memory = self.memory_of(tensor)
        if self.is_born(tensor) or memory is None or memory.is_written:
            return value
        if memory.is_input and geometry(memory.root) == geometry(tensor):
            return memory.value
        return next((c.value for c in self.graph.captures if c.tensor is tensor), value)

    def restore(self) -> None:
        """Undo what running the operators wrote into captured tensors."""
        for target, old in self.saved:
            bridge.copy_into(target, old)
        self.saved.clear()
        self.events.restore()

    # ---- nodes ----

    def record(
        self, key: str, args: Sequence[Any], outs: Sequence[Tensor] | None
    ) -> list[Tensor]:
        """A call as a node; the tensors that stand for its results."""
        opdef = find_opdef(key)
        if opdef is None:
            raise TraceError(f"{caller()}: {key}() is not in the operator table")
        if opdef.dynamic_shape and self.value_sizes is not None and outs is None:
            return [found(self, key, args)]
        if opdef.dynamic_shape:
            raise TraceError(
                f"{caller()}: the shape that {key}() gives depends on values, which a trace does "
                "not have; select with where() or multiply by a mask, or keep this call outside "
                "what is traced"
            )
        if key == "slice" and (short := shortened(self, args)) is not None:
            return [short]
        if key == "empty_strided" and self.value_sizes is not None:    # no order depends on sizes
            return self.record("empty", [args[0], *args[2:]], outs)
        if key in EXTREMES and (full := never_empty(self, key, args)) is not None:
            args = full
        if opdef.category == "view":
            return [self.view(key, args)]
        return self.node(opdef, args, outs)

    def view(self, key: str, args: Sequence[Any]) -> Tensor:
        """A view, made for real."""
        source = self.value_of(args[0])
        memory = self.memories[bridge.memory_address(args[0])]
        result = bridge.call_below(key, args)[0]
        values = tuple(self.argument(arg) for arg in args[1:])
        history = self.history(args)
        value = self.emit(key, (source, *values), [bridge.value_of(result)], (), history)[0]
        self.add_view(memory, result, value)
        return result

    def node(
        self, opdef: OpDef, args: Sequence[Any], outs: Sequence[Tensor] | None
    ) -> list[Tensor]:
        """Any other operator: its results are new tensors, or are written to targets."""
        specs = infer_specs(opdef.key, args)
        if outs is not None:
            return self.write(opdef, args, outs)
        written = [args[i] for i in written_numbers(opdef.key, args)]
        arguments = tuple(self.argument(arg) for arg in args)
        types = [spec.value for spec in specs]
        values = self.emit(opdef.key, arguments, types, (), self.history(args))
        self.note_writes(written)
        if self.compute:
            results = bridge.call_below(opdef.key, args)
        else:
            results = [spec.allocate() for spec in specs]
            for tensor in written:
                bridge.count_write(tensor)
        for tensor, value in zip(results, values, strict=True):
            self.add_memory(tensor, value, where=caller())
        return results

    def write(
        self, opdef: OpDef, args: Sequence[Any], outs: Sequence[Tensor]
    ) -> list[Tensor]:
        """An operator that writes its results into tensors that are there."""
        arguments = tuple(self.argument(arg) for arg in args)
        targets = tuple(self.value_of(tensor) for tensor in outs)
        resized = bridge.check_write(opdef.key, args, outs)
        for tensor, is_resized in zip(outs, resized, strict=True):
            if not is_resized:
                self.note_writes([tensor])
            elif not self.is_born(tensor):
                self.events.refuse("resizes a tensor from outside for out=; give it the shape of "
                                   "the result before")
        types = [bridge.value_of(tensor) for tensor in outs]
        values = self.emit(opdef.key, arguments, types, targets, self.history((*args, *outs)))
        if self.compute:
            bridge.call_below(opdef.key, args, outs)
        for tensor, value in zip(outs, values, strict=True):
            if not self.compute:
                bridge.count_write(tensor)
            memory = self.memories.get(bridge.memory_address(tensor))
            if memory is None:      # it was given larger memory
                self.add_memory(tensor, value, where=caller())
            else:
                memory.values[geometry(tensor)] = value
        return list(outs)

    def emit(self, key: str, args: tuple[Arg, ...], types: Sequence[Value],
             into: tuple[Value, ...] = (), history: tuple[int, ...] = ()) -> tuple[Value, ...]:
        """Append a node."""
        outputs = tuple(value.like() for value in types)
        node = Node(key, args, outputs, where=caller(), into=into, history=history)
        self.graph.nodes.append(node)
        if history:
            self.live.update(outputs)
        return outputs

    # ---- history: a run that records it must record what the function did ----

    def history(self, tensors: Sequence[Any]) -> tuple[int, ...]:
        """Which of a call's tensors require grad, where history is recorded."""
        if not bridge.is_grad_enabled():
            return ()
        flat = list(tensors_in(tensors))
        found = tuple(i for i, tensor in enumerate(flat) if tensor.requires_grad)
        for i in found:
            self.check_history(flat[i], self.value_of(flat[i]))
        return found

    def check_history(self, tensor: Tensor, value: Value) -> None:
        """Note where a tensor has a history that did not come from operators."""
        if tensor.requires_grad and value not in self.live and self.is_born(tensor):
            why = "requires_grad is set here on a tensor that the function made" \
                if tensor.is_leaf else "the gradient of a tensor is computed by Python " \
                "(autograd.Function, a hook)"
            self.graph.no_history = self.graph.no_history or (
                f"{caller()}: {why}, which a program does not hold")

    def argument(self, arg: Any) -> Arg:
        """An argument as it stands in a node."""
        if bridge.is_tensor(arg):
            return self.value_of(arg)
        if isinstance(arg, list | tuple):
            return tuple(self.argument(item) for item in arg)
        literal: Arg = bridge.to_literal(arg)
        if isinstance(literal, Opaque) and not bridge.is_generator(arg):
            kind = type(arg).__name__
            raise TraceError(f"{caller()}: an argument of type {kind} cannot be part of a trace")
        return literal

    # ---- memory ----

    def memory_of(self, tensor: Tensor) -> Memory | None:
        """The memory that a tensor lies in, if it was met."""
        before, self.busy = self.busy, True
        try:
            return self.memories.get(bridge.memory_address(tensor))
        finally:
            self.busy = before

    def value_of(self, tensor: Tensor) -> Value:
        """What a tensor is; one from outside that was never met is captured."""
        memory = self.memory_of(tensor)
        if memory is None:
            return self.capture(tensor)
        if memory.is_over:
            raise TraceError(f"{caller()}: a tensor that was made at {memory.where}, in a branch "
                             "or loop, is used outside of it; return it from there")
        value = memory.values.get(geometry(tensor))
        if value is not None:
            return value
        if not memory.where and not memory.is_input and not self.is_born(tensor):
            return self.capture(tensor, memory)
        if bridge.dtype_name(tensor.dtype) != memory.value.dtype:
            raise TraceError(
                f"{caller()}: a view of another dtype was made in a way that is not recorded; use "
                "view(dtype) or view_as_real()"
            )
        strided = (tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())
        value = self.emit("as_strided", (memory.value, *strided), [bridge.value_of(tensor)])[0]
        self.add_view(memory, tensor, value)
        return value

    def capture(
        self, tensor: Tensor, memory: Memory | None = None, constant: bool = False
    ) -> Value:
        """Take in a tensor from outside, over memory that may be known."""
        value = bridge.value_of(tensor)
        if not bridge.is_private(tensor):
            self.events.watch(tensor)
        name = self.names.get(id(tensor)) or f"captured{len(self.graph.captures)}"
        self.graph.captures.append(Capture(value, name, tensor, constant))
        if memory is None:
            self.add_memory(tensor, value)
        else:
            memory.values[geometry(tensor)] = value
        self.events.note_leaf(tensor, value)
        return value

    def add_memory(self, tensor: Tensor, value: Value, where: str = "") -> Memory:
        """Memory that is met for the first time."""
        before, self.busy = self.busy, True
        memory = Memory(tensor.detach(), value, where, region=self.region if where else None)
        self.memories[bridge.memory_address(tensor)] = memory
        memory.values[geometry(tensor)] = value
        if where:
            self.note_object(tensor)
        self.busy = before
        return memory

    def add_view(self, memory: Memory, tensor: Tensor, value: Value) -> None:
        memory.values[geometry(tensor)] = value
        self.note_object(tensor)

    def note_object(self, tensor: Tensor) -> None:
        """Remember that a tensor was made while recording."""
        self.born[id(tensor)] = weakref.ref(tensor)

    def is_born(self, tensor: Tensor) -> bool:
        """Whether a tensor was made while recording."""
        entry = self.born.get(id(tensor))
        return entry is not None and entry() is tensor

    def is_another(self, tensor: Tensor, value: Value) -> bool:
        """Whether a tensor is not the input or captured one that a value stands for."""
        captured = next((c.tensor for c in self.graph.captures if c.value is value), tensor)
        return captured is not tensor or value in self.graph.inputs and self.is_born(tensor)

    def note_writes(self, targets: Sequence[Tensor]) -> None:
        """Remember what is written; where operators run, what was there before."""
        for target in targets:
            self.value_of(target)
            memory = self.memories[bridge.memory_address(target)]
            if memory.region is not self.region or memory.is_shared:
                self.events.refuse(
                    "writes in a branch or loop to a tensor from outside, or to one that such a "
                    "branch or loop returned as it was; write to a clone() and return that")
            if self.compute and not memory.where and not memory.is_written:
                self.saved.append((memory.root, bridge.call_below("clone", [memory.root])[0]))
            memory.is_written = True

    def written_values(self) -> set[Value]:
        """What lies in memory that was written to."""
        return {value for memory in self.memories.values() if memory.is_written
                for value in memory.values.values()}


def tensors_in(args: Sequence[Any]) -> Iterator[Tensor]:
    """The tensors among arguments, also those in lists."""
    for arg in args:
        if bridge.is_tensor(arg):
            yield arg
        elif isinstance(arg, list | tuple):
            yield from tensors_in(arg)


def geometry(tensor: Tensor) -> Geometry:
    """Offset and layout within the memory."""
    dtype = bridge.dtype_name(tensor.dtype)
    return tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), dtype
