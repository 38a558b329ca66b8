"""What happens beside operators while a function is recorded: reads, replaced memory, gradients,
random state. What a program cannot repeat is refused, with the line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from flambeau.jit import bridge
from flambeau.jit.errors import TraceError
from flambeau.jit.ir import Grad, Read, Value
from flambeau.jit.literals import GET_STATE, SET_SEED, SET_STATE
from flambeau.jit.locations import caller
from flambeau.jit.recording.optimizers import Stepped
from flambeau.jit.recording.traced_sizes import Comparison, traced
from flambeau.jit.recording.value_sizes import of_numbers, read_constant, read_number

if TYPE_CHECKING:
    from flambeau.jit.recording.recorder import Recorder

Tensor = Any
ADVICE = (
    "Write where(condition, a, b) instead of `if`, or record what jit.script(function) gives, "
    "which keeps branches and loops on values; keep the number as a tensor instead of item(), or "
    "read it outside what is traced; allow_reads=True keeps what the example gives"
)
#: Reads after which Python has the memory itself.
SHARING = ("numpy()", "memoryview()", "data_ptr()", "__dlpack__()", "__cuda_array_interface__")


class Events:
    """Listens to the core for a recorder.

    Args:
        recorder: what records.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.leaves: dict[int, tuple[Tensor, Tensor | None]] = {}
        self.values: dict[int, Value] = {}
        self.replaced: set[int] = set()
        self.seen: set[int] = set()
        self.watched: list[Read] = []
        self.heard: dict[str, Callable[[Any, Any, str], None]] = {
            "detach": self._detach, "made": self._made, "hook": self._hook, "data": self._data,
            "requires_grad": self._requires_grad, "grad": self._grad,
            "grad_read": self._grad_read, "step": self._step}

    def refuse(self, why: str) -> NoReturn:
        raise TraceError(f"{caller()}: {why}")

    # ---- reads ----

    def on_read(self, tensor: Tensor, what: str) -> None:
        """Called before Python reads values."""
        recorder = self.recorder
        if recorder.busy or recorder.compute:
            return
        memory = recorder.memory_of(tensor)
        if self.is_unknown(tensor) and self.is_asked_for(tensor, what):
            return
        if self.is_unknown(tensor):
            self.refuse(f"{what} reads a value, but a trace has shapes only. {ADVICE}")
        if memory is None and self.overlaps_written(tensor):
            self.refuse(f"{what} reads memory that was written here")
        if what in SHARING:
            self.refuse(f"{what} gives Python the memory of a tensor, where a trace does not see "
                        "what is read and written; do it outside what is traced")
        recorder.busy = True
        try:
            copy = bridge.call_below("clone", [tensor])[0]
            self.recorder.graph.reads.append(Read(tensor.detach(), copy, caller()))
        finally:
            recorder.busy = False

    def is_asked_for(self, tensor: Tensor, what: str) -> bool:
        """Whether it is an integer that operators are called with, or what constants decide."""
        self.recorder.busy = True
        try:
            read = read_number if what == "index" else read_constant
            return what not in SHARING and read(self.recorder, tensor)
        finally:
            self.recorder.busy = False

    def is_unknown(self, tensor: Tensor) -> bool:
        """Whether a tensor has values in a run of the program only."""
        memory = self.recorder.memory_of(tensor)
        return memory is not None and bool(
            memory.where or memory.is_input or memory.is_written)

    def overlaps_written(self, tensor: Tensor) -> bool:
        """Whether memory met elsewhere, such as another slice of an array, was written here."""
        start = bridge.memory_address(tensor)
        end = start + bridge.storage_bytes(tensor)
        written = [m for m in self.recorder.memories.values() if m.is_written]
        return any(bridge.memory_address(m.root) < end and start < bridge.memory_address(m.root)
                   + bridge.storage_bytes(m.root) for m in written)

    def watch(self, tensor: Tensor) -> None:
        """Remember what memory holds that others may write to without notice."""
        self.watched.append(Read(tensor, bridge.call_below("clone", [tensor])[0], caller()))

    def check_watched(self) -> None:
        """Refuse what wrote to captured memory beside operators."""
        for read in self.watched:
            if not self.recorder.compute and not bridge.equal(read.tensor, read.copy):
                raise TraceError(
                    f"{read.where}: the memory of the tensor used here was written through NumPy "
                    "or a buffer while the function was traced, which a program does not repeat")

    # ---- changes ----

    def sizes(self, tensor: Tensor, what: str, found: Any) -> Any:
        """Sizes that note what they are compared with; what ``len()`` gives cannot."""
        memory = self.recorder.memory_of(tensor)
        if memory is None or not (memory.where or memory.is_input):
            return None
        self.recorder.busy = True
        try:
            value, log = self.recorder.value_of(tensor), self.recorder.graph.compared
        finally:
            self.recorder.busy = False
        if what == "shape":
            return bridge.size_of(
                [traced(size, log, ((value, d),)) for d, size in enumerate(found)])
        every = tuple((value, d) for d in range(tensor.dim()))
        if what == "numel":
            return traced(found, log, every)
        log.append(Comparison(0, 0, False, every[:1], caller()))
        return None

    def on_change(self, subject: Any, what: str, value: Any) -> Any:
        """Called before a tensor or generator changes; whether the change is recorded instead."""
        if self.recorder.busy:
            return False
        if what in ("shape", "numel", "len"):
            return self.sizes(subject, what, value)
        self.recorder.busy = True
        try:
            if what in ("manual_seed", "get_state", "set_state"):
                return self.random(subject, what, value)
            self.heard.get(what, self.other)(subject, value, what)
            return False
        finally:
            self.recorder.busy = False

    def other(self, subject: Any, value: Any, what: str) -> None:
        self.refuse(f"{what} cannot be part of a trace; do it outside what is traced")

    def _detach(self, subject: Tensor, value: Tensor, what: str) -> None:
        self.recorder.value_of(subject)
        self.recorder.note_object(value)

    def _made(self, subject: Tensor, value: None, what: str) -> None:
        """A tensor from Python numbers: a constant, if each recording makes the same one."""
        made = of_numbers(self.recorder, subject)
        if made is not None:
            self.recorder.add_memory(subject, made, where=caller())
            return
        self.recorder.capture(subject, constant=True)
        self.recorder.note_object(subject)

    def _hook(self, subject: Tensor, value: Any, what: str) -> None:
        if not self.recorder.is_born(subject):
            self.refuse("registers a hook on a tensor from outside; do it before tracing")
        graph = self.recorder.graph
        graph.no_history = graph.no_history or (
            f"{caller()}: a hook is called by Python, which a program does not hold")

    def _data(self, subject: Tensor, value: Tensor, what: str) -> None:
        if not self.recorder.is_born(subject):
            self.refuse("gives a tensor from outside other memory or another shape (x.data = y, "
                        "set_, resize_, t_ and the like), which a program does not repeat; write "
                        "x.copy_(y), or return the new tensor")

    def _requires_grad(self, subject: Tensor, value: bool, what: str) -> None:
        memory = self.recorder.memory_of(subject)
        if not self.recorder.is_born(subject) and not (memory and memory.where):
            self.refuse("changes requires_grad of a tensor from outside; do it before tracing")

    def _step(self, subject: Any, value: None, what: str) -> None:
        steps = self.recorder.graph.steps
        if not any(each.optimizer is subject for each in steps):
            steps.append(Stepped(subject, caller()))

    # ---- gradients ----

    def note_leaf(self, tensor: Tensor, value: Value) -> None:
        """Remember a tensor from outside, and what gradient it has."""
        self.values[id(tensor)] = value
        if tensor.requires_grad and tensor.is_leaf:
            self.leaves.setdefault(id(tensor), (tensor, tensor.grad))

    def _grad(self, subject: Tensor, value: Tensor | None, what: str) -> None:
        if self.recorder.region is not None:
            self.refuse("computes gradients in a branch or loop; do it outside of it")
        if self.recorder.is_born(subject):
            return
        self.leaves.setdefault(id(subject), (subject, subject.grad))
        self.replaced.add(id(subject))

    def _grad_read(self, subject: Tensor, value: Tensor | None, what: str) -> None:
        if not self.recorder.is_born(subject) and subject.is_leaf:
            self.leaves.setdefault(id(subject), (subject, value))
            self.seen.add(id(subject))

    def finish(self) -> None:
        """Note the gradients that are others than before, or on which what was done may depend."""
        self.check_watched()
        recorder = self.recorder
        for step in recorder.graph.steps:
            step.finish()
        order = {id(c.tensor): number for number, c in enumerate(recorder.graph.captures)}
        leaves = sorted(self.leaves.items(), key=lambda item: order.get(item[0], len(order)))
        for key, (leaf, before) in leaves:
            after = leaf.grad
            touched = key in self.replaced
            if after is before and not touched and key not in self.seen:
                memory = None if before is None else recorder.memory_of(before)
                if memory is None or not memory.is_written:
                    continue
            value = None if after is None else recorder.value_of(after)
            needs = "" if touched else "none" if before is None else "same"
            if key not in self.values:
                recorder.capture(leaf, recorder.memory_of(leaf))
            grad = Grad(self.values[key], value, needs, before, leaf)
            recorder.graph.grads.append(grad)

    def exchange_grads(self, leaves: Sequence[Tensor]) -> None:
        """Start with a gradient where there is none, and the other way round."""
        for leaf in leaves:
            before = leaf.grad
            self.leaves[id(leaf)] = leaf, before
            leaf.grad = bridge.clone(leaf.detach()) if before is None else None

    def restore(self) -> None:
        """Give leaves the gradients they had."""
        for leaf, before in self.leaves.values():
            if leaf.grad is not before:
                leaf.grad = before

    # ---- random state ----

    def random(self, generator: Any, what: str, value: Any) -> bool:
        """Seeds and states as nodes: a run draws what the function draws."""
        recorder = self.recorder
        if recorder.region is not None:
            self.refuse(f"{what}() in a branch or loop cannot be part of a trace")
        if recorder.compute:
            self.refuse(f"{what}() cannot be recorded with allow_reads=True")
        whose = None if generator is None else bridge.to_literal(generator)
        if what == "manual_seed":
            recorder.emit(SET_SEED, (whose, int(value)), ())
            return True
        if what == "set_state":
            if not bridge.is_tensor(value):
                self.refuse("a random state must be a tensor")
            recorder.emit(SET_STATE, (whose, recorder.value_of(value)), ())
            return True
        captures = recorder.graph.captures
        captures[:] = [c for c in captures if c.tensor is not value]    # it was made of numbers
        node = recorder.emit(GET_STATE, (whose,), [bridge.value_of(value)])
        recorder.add_memory(value, node[0], where=caller())
        return False
