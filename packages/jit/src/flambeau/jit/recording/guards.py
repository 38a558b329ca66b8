"""What must hold at each run for a program to be the function it was traced from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.errors import ProgramError
from flambeau.jit.ir import Graph, Limits
from flambeau.jit.printing import show_type
from flambeau.jit.tree import Spec

Tensor = Any


class Guards:
    """Checks arguments and what was captured.

    Args:
        graph: the program's graph.
        gives: structure of its result.
    """

    def __init__(self, graph: Graph, gives: Spec) -> None:
        self.graph = graph
        self.is_pure = graph.is_pure()
        self.needs_order = graph.replaces_strides() or not self.is_pure
        self.shown = graph.shown()
        self.captured = [
            (capture, (capture.value.shape, capture.value.dtype), capture.tensor.requires_grad)
            for capture in graph.captures]
        self.records = any(graph.requires) and not graph.grads

    def check(self, tensors: list[Tensor]) -> bool:
        """Check a run's tensors, and lay them out as recorded; whether history is recorded.

        Raises:
            ProgramError: something is not as it was.
        """
        self.check_defaults()
        self.check_layout(tensors)
        self.check_captures()
        self.check_reads()
        self.check_grads(tensors)
        for step in self.graph.steps:
            step.check()
        return self.check_history(tensors)

    def check_defaults(self) -> None:
        wanted = self.graph.defaults
        if wanted and wanted != bridge.defaults():
            raise ProgramError(
                f"by default tensors are {bridge.defaults()} now, and were {wanted} when the "
                "function was traced; trace it again")

    def check_layout(self, tensors: list[Tensor]) -> None:
        """Inputs were recorded in C order; elsewhere views may be copies, and copies views."""
        for number, (value, tensor) in enumerate(zip(self.graph.inputs, tensors, strict=True)):
            if tensor.is_contiguous():
                continue
            if self.needs_order or value in self.shown:
                raise ProgramError(
                    f"argument {number} has strides {tuple(tensor.stride())}, but programs that "
                    "write in place, call as_strided() or return views of it are recorded for "
                    "tensors in C order; pass x.contiguous()")
            tensors[number] = tensor.contiguous()

    def check_captures(self) -> None:
        for capture, kind, requires in self.captured:
            tensor = capture.tensor
            if (tensor.shape, bridge.dtype_name(tensor.dtype)) != kind:
                raise ProgramError(
                    f"{capture.name} is {show_type(bridge.value_of(tensor))} now, but was "
                    f"{show_type(capture.value)} when the function was traced; trace it again")
            if self.records and tensor.requires_grad is not requires:
                raise ProgramError(
                    f"requires_grad of {capture.name} has changed since the function was traced; "
                    "trace it again")

    def check_reads(self) -> None:
        for read in self.graph.reads:
            if not bridge.equal(read.tensor, read.copy):
                raise ProgramError(
                    f"{read.where}: what was read here from a tensor outside has changed since the "
                    "function was traced; trace it again")

    def check_grads(self, tensors: Sequence[Tensor]) -> None:
        for grad in self.graph.grads:
            if not grad.needs:
                continue
            number = [*self.graph.inputs, *(c.value for c in self.graph.captures)].index(grad.leaf)
            leaves = [*tensors, *(capture.tensor for capture in self.graph.captures)]
            wanted = grad.before if grad.needs == "same" else None
            if leaves[number].grad is not wanted:
                raise ProgramError(
                    "the program adds to gradients as they were when it was traced, "
                    f"{'none' if wanted is None else 'tensors that were there'}, and now there are "
                    "others: call zero_grad() inside what is traced, or before each call as before "
                    "tracing")

    def check_history(self, tensors: Sequence[Tensor]) -> bool:
        """Whether this run records history."""
        if not bridge.is_grad_enabled():
            return False
        for number, (tensor, needs) in enumerate(
                zip(tensors, self.graph.input_requires or [True] * len(tensors), strict=True)):
            if tensor.requires_grad and not needs:
                raise ProgramError(
                    f"argument {number} requires grad, and the example did not: trace with an "
                    "example that requires grad, or run it under no_grad()")
        if not self.records:
            return False
        needed = any(t.requires_grad for t in tensors) or any(r for *_, r in self.captured)
        if self.graph.no_history:
            raise ProgramError(f"{self.graph.no_history}; run the program under no_grad()")
        return needed

    def check_sizes(self, sizes: dict[str, int]) -> None:
        """Check the symbols' sizes."""
        for name in self.graph.symbols:
            allowed = self.graph.range_of(name)
            if name not in sizes or sizes[name] in allowed:
                continue
            limits = self.graph.limits.get(name) or Limits(allowed.start)
            why = limits.below if sizes[name] < allowed.start else limits.above
            raise ProgramError(
                f"{name} is {sizes[name]}, but the program was traced for {name} {_words(allowed)}"
                f": {why or 'Python takes another path below, or fails'}; trace it with such an "
                "example, or with retrace=True")

    def explain(self) -> list[str]:
        """What holds for the sizes, in words."""
        lines = []
        for name, recorded in self.graph.symbols.items():
            tried = ", ".join(map(str, sorted(set(recorded))))
            lines.append(f"{name} may be any size {_words(self.graph.range_of(name))} "
                         f"(recorded with {tried})")
            limits = self.graph.limits.get(name)
            lines += [why for why in (limits.below, limits.above) if why] if limits else []
        return lines + ([f"all sizes are fixed: {self.graph.fixed}"] if self.graph.fixed else [])


def _words(allowed: range) -> str:
    return f"from {allowed.start}" + (f" to {allowed.stop - 1}" if allowed.stop < 2**62 else "")
