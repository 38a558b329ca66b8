"""Records what Python does to tensors as a graph, without computing.

Every operator call arrives here below autograd. Results are made from what ``infer`` says, on
memory that is not filled; views are made for real, since they touch no data. So recording has no
side effects: no generator moves, no statistics are updated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flambeau.core.opdefs import OpDef
from flambeau.jit import bridge
from flambeau.jit.aliasing import Cell, Handle, Step
from flambeau.jit.errors import TraceError
from flambeau.jit.ir import Arg, Capture, Graph, Node, Value
from flambeau.jit.literals import DType, Opaque
from flambeau.jit.locations import caller
from flambeau.jit.memory import Memory
from flambeau.jit.opset import VIEW_WRITE, find_opdef, written_params

Tensor = Any


class Recorder:
    """The graph being recorded.

    Args:
        names: names of captured tensors, by ``id``.
        compute: run the operators too, so that values can be read.
    """

    def __init__(self, names: Mapping[int, str] | None = None, compute: bool = False) -> None:
        self.names = names or {}
        self.compute = compute
        self.graph = Graph()
        self.memory = Memory()
        self.saved: list[tuple[Tensor, Tensor]] = []
        self.busy = False

    # ---- what the core and ``trace`` call ----

    def add_input(self, tensor: Tensor) -> None:
        """Declare a tensor as the next input."""
        self.busy = True
        value = bridge.value_of(tensor)
        self.graph.inputs.append(value)
        self.memory.add_cell(tensor, value, origin=value)
        self.busy = False

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
        self.graph.outputs = [self.value_of(tensor) for tensor in outputs]
        self.graph.writes = self.writes()
        return self.graph

    def writes(self) -> list[tuple[Value, Value]]:
        """Inputs and captures that were written, and what they hold now."""
        cells = [cell for cell in self.memory.cells if cell.origin and cell.version]
        return [(cell.origin, cell.value) for cell in cells]  # type: ignore[misc]

    def knows(self, tensor: Tensor) -> bool:
        """Whether a tensor depends on the inputs or on what is recorded."""
        self.busy = True
        cell = self.memory.cell_at(tensor)
        self.busy = False
        if cell is None or cell.value is None:
            return False
        return cell.origin is None or cell.version > 0 or cell.origin in self.graph.inputs

    def restore(self) -> None:
        """Undo what running the operators wrote into captured tensors."""
        for target, old in self.saved:
            bridge.copy_into(target, old)
        self.saved.clear()

    # ---- nodes ----

    def record(
        self, key: str, args: Sequence[Any], outs: Sequence[Tensor] | None
    ) -> list[Tensor]:
        """A call as a node; the tensors that stand for its results."""
        opdef = find_opdef(key)
        if opdef is None:
            raise TraceError(f"{caller()}: {key}() is not in the operator table")
        if opdef.dynamic_shape:
            raise TraceError(
                f"{caller()}: the shape that {key}() gives depends on values, which a trace does "
                "not have; select with where() or multiply by a mask, or keep this call outside "
                "what is traced"
            )
        if opdef.category == "view":
            return [self.view(key, args)]
        return self.node(opdef, args, outs)

    def view(self, key: str, args: Sequence[Any]) -> Tensor:
        """A view: made for real, and remembered as a step from the same root."""
        source = self.handle(args[0])
        before = self.refresh(source)
        result = bridge.call_below(key, args)[0]
        step = Step(key, tuple(self.argument(arg) for arg in args[1:]), bridge.value_of(result))
        value = self.emit(key, (before, *step.args), [step.type])[0]
        handle = Handle(source.cell, (*source.steps, step), value, source.cell.version)
        self.memory.add(result, handle)
        return result

    def node(
        self, opdef: OpDef, args: Sequence[Any], outs: Sequence[Tensor] | None
    ) -> list[Tensor]:
        """Any other operator: its results are new tensors, or are written to targets."""
        specs = bridge.infer_specs(opdef.key, args)
        written = [args[i] for i in written_params(opdef.key) if args[i] is not None]
        types = [spec.value for spec in specs] + [bridge.value_of(tensor) for tensor in written]
        resized = bridge.check_write(opdef.key, args, outs) if outs is not None else []
        for tensor in (*(outs or ()), *written):
            self.refuse_shared(tensor)
        values = self.emit(opdef.key, self.arguments(opdef, args), types)
        if self.compute:
            self.save([*(outs or ()), *written])
            results = bridge.call_below(opdef.key, args, outs)
        else:
            results = list(outs) if outs is not None else [spec.allocate() for spec in specs]
        for number, (tensor, value) in enumerate(zip(results, values, strict=False)):
            if outs is None or resized[number]:
                self.memory.add_cell(tensor, value, where=caller())
                continue
            self.write(tensor, value)
            if not self.compute:
                bridge.count_write(tensor)
        for tensor, value in zip(written, values[len(specs) :], strict=True):
            self.write(tensor, value)
        return results

    def emit(self, key: str, args: tuple[Arg, ...], types: Sequence[Value]) -> tuple[Value, ...]:
        """Append a node."""
        outputs = tuple(value.like() for value in types)
        self.graph.nodes.append(Node(key, args, outputs, where=caller()))
        return outputs

    def arguments(self, opdef: OpDef, args: Sequence[Any]) -> tuple[Arg, ...]:
        """The arguments as they stand in a node."""
        return tuple(self.argument(arg) for arg in args)

    def argument(self, arg: Any) -> Arg:
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

    def value_of(self, tensor: Tensor) -> Value:
        """What a tensor holds now."""
        return self.refresh(self.handle(tensor))

    def handle(self, tensor: Tensor) -> Handle:
        """What is known of a tensor; one never met before is captured."""
        found = self.memory.find(tensor)
        if found is not None:
            return found
        cell = self.memory.cell_at(tensor)
        if cell is None:
            return self.memory.add_cell(tensor, None)
        if cell.origin is None and cell.value is not None:
            raise TraceError(
                f"{caller()}: a view of a tensor computed here was made in a way that is not "
                "recorded; use view(), transpose(), indexing or another view operator"
            )
        cell.shared = True
        found = self.memory.add_cell(tensor, None)
        found.cell.shared = True
        return found

    def refresh(self, handle: Handle) -> Value:
        """A handle's value, derived again if its memory was captured or written since."""
        cell = handle.cell
        if cell.value is None:
            self.capture(cell)
        if handle.value is None or handle.version != cell.version:
            value = cell.value
            for step in handle.steps:
                value = self.emit(step.op, (value, *step.args), [step.type])[0]
            handle.value, handle.version = value, cell.version
        assert handle.value is not None
        return handle.value

    def capture(self, cell: Cell) -> None:
        """Take in memory from outside."""
        cell.value = cell.origin = bridge.value_of(cell.root)
        owner = cell.owner()
        tensor = cell.root if owner is None else owner
        name = self.names.get(id(tensor)) or f"captured{len(self.graph.captures)}"
        self.graph.captures.append(Capture(cell.value, name, tensor))

    def refuse_shared(self, target: Tensor) -> None:
        """Refuse writing where not everything that looks at the memory is known."""
        if self.handle(target).cell.shared:
            raise TraceError(
                f"{caller()}: writes into a tensor that shares memory with another captured one; "
                "make the view inside what is traced, or pass both as inputs"
            )

    def write(self, target: Tensor, value: Value) -> None:
        """Replace what a tensor holds; all that share its memory will see it."""
        handle = self.handle(target)
        cell = handle.cell
        wanted = bridge.value_of(target)
        if value.dtype != wanted.dtype:
            value = self.emit("cast", (value, DType(wanted.dtype)), [wanted])[0]
        if cell.value is None:
            self.capture(cell)
        assert cell.value is not None
        if handle.steps:
            steps = tuple(step.literal for step in handle.steps)
            cell.value = self.emit(VIEW_WRITE, (cell.value, value, steps), [cell.value])[0]
        else:
            cell.value = value
        cell.version += 1
        handle.value, handle.version = value, cell.version

    def save(self, targets: Sequence[Tensor]) -> None:
        """Remember what captured tensors held before they are written for the first time."""
        for target in targets:
            cell = self.handle(target).cell
            if cell.origin is not None and not cell.version:
                self.saved.append((cell.root, bridge.call_below("clone", [cell.root])[0]))
