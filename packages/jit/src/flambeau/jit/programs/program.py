"""A traced function, ready to run, print and save."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from flambeau.jit import bridge
from flambeau.jit.dims import Dim, evaluate
from flambeau.jit.errors import ProgramError
from flambeau.jit.interpreter import Executor, Scalars, Values
from flambeau.jit.ir import Graph, Value
from flambeau.jit.printing import show_type
from flambeau.jit.programs.state import State
from flambeau.jit.recording.guards import Guards
from flambeau.jit.tree import Spec, flatten, text_of, unflatten

Tensor = Any


class Program(State):
    """A graph with its captured tensors, called like the function it was traced from.

    Made by ``trace`` and ``load``. Captured parameters are shared with the module they came from.
    Results require grad where the function's did, and are differentiable as those are. A program
    with ``backward`` inside leaves the gradients that the function leaves.

    Args:
        graph: the graph, after its passes.
        takes: structure of the arguments.
        gives: structure of the result.
        training: whether the module that was traced was in training mode; ``None``: a function.
        retrace: makes a program for arguments that this one was not made for.
    """

    def __init__(
        self, graph: Graph, takes: Spec, gives: Spec, training: bool | None = None,
        retrace: Callable[..., Program] | None = None,
    ) -> None:
        self.graph = graph
        self.takes = takes
        self.gives = gives
        self.training = training
        self._takes_text = text_of(takes)
        self._guards = Guards(graph, gives)
        self._retrace = retrace
        self._others: list[Program] = []
        self._executors: dict[str, Executor] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Args:
            args: as the traced function takes them; sizes that were recorded as symbols may
                differ, everything else must agree with the example.
            kwargs: the keyword arguments of the example, with other tensors.

        Returns:
            What the function returned.

        Raises:
            ProgramError: arguments that the program was not made for.
        """
        return self._run(args, kwargs, "fast" if self._guards.is_pure else "plain")

    def reference(self, *args: Any, **kwargs: Any) -> Any:
        """The same by the interpreter alone, operator by operator."""
        return self._run(args, kwargs, "plain")

    def _run(self, args: Sequence[Any], kwargs: dict[str, Any], how: str) -> Any:
        try:
            tensors = self._tensors(args, kwargs)
            sizes = self.bind(tensors)
            history = self._guards.check(tensors)
        except ProgramError:
            if self._retrace is None:
                raise
            return self._other(args, kwargs)
        captures = [capture.tensor for capture in self.graph.captures]
        executor = self._executor("history" if history else how)
        with bridge.without_autocast():
            if history:
                values = executor.run(tensors, captures, Scalars(sizes))
            else:
                values = bridge.without_history(executor.run, tensors, captures, Scalars(sizes))
        self._leave_grads(values)
        for step in self.graph.steps:
            step.count()
        return unflatten(self.gives, self._results(values, history))

    def _tensors(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Tensor]:
        tensors: list[Tensor] = []
        try:
            given = text_of(flatten(pack(args, kwargs), tensors))
        except TypeError as error:
            raise ProgramError(str(error)) from None
        if given != self._takes_text:
            raise ProgramError(
                "the arguments are not built like the example the program was traced with: numbers "
                f"are part of a program, and tensors may vary; it takes {self.takes}"
            )
        return tensors

    def _executor(self, how: str) -> Executor:
        found = self._executors.get(how)
        if found is None:
            run_fused = None
            if how == "fast":
                from flambeau.jit.llvm.fused import FusedRunner

                run_fused = FusedRunner()
            found = Executor(self.graph, run_fused, how == "history")
            self._executors[how] = found
        return found

    def _results(self, values: Values, history: bool) -> list[Tensor]:
        results = [values[value] for value in self.graph.outputs]
        if history:
            results = [
                result.detach() if result.requires_grad and not requires else result
                for result, requires in zip(results, self.graph.requires, strict=True)]
        return results

    def _leave_grads(self, values: Values) -> None:
        for grad in self.graph.grads:
            leaf, value = values[grad.leaf], grad.value
            leaf.grad = None if value is None else values[value]

    def bind(self, tensors: Sequence[Tensor]) -> dict[str, int]:
        """The sizes of the symbols for these inputs.

        Raises:
            ProgramError: a tensor's type or shape is not what the program takes.
        """
        sizes: dict[str, int] = {}
        for number, (value, tensor) in enumerate(zip(self.graph.inputs, tensors, strict=True)):
            given = bridge.value_of(tensor)
            if (given.dtype, len(given.shape), given.device) != (
                    value.dtype, len(value.shape), value.device):
                self.refuse(number, value, given)
            shape: tuple[int, ...] = tuple(tensor.shape)
            for size, actual in zip(value.shape, shape, strict=True):
                if isinstance(size, Dim) and len(size.terms) == 1 and not size.offset:
                    sizes.setdefault(size.names[0], actual)
        for number, (value, tensor) in enumerate(zip(self.graph.inputs, tensors, strict=True)):
            if any(evaluate(size, sizes) != actual
                   for size, actual in zip(value.shape, tensor.shape, strict=True)):
                self.refuse(number, value, bridge.value_of(tensor))
        self._guards.check_sizes(sizes)
        return sizes

    def refuse(self, number: int, value: Value, given: Value) -> None:
        wanted = show_type(value)
        raise ProgramError(
            f"argument {number} must be {wanted}, got {show_type(given)}; trace again with an "
            "example like it, or name the size that varies with dynamic="
            + (f"; sizes are fixed because of {self.graph.fixed}" if self.graph.fixed else "")
        )

    def _other(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run what was recorded for arguments that this program refuses."""
        for other in self._others:
            try:
                return other(*args, **kwargs)
            except ProgramError:
                continue
        assert self._retrace is not None
        made = self._retrace(*args, **kwargs)
        self._others.append(made)
        return made(*args, **kwargs)

    def explain(self) -> str:
        """What runs: the graph, and what each region became."""
        fused = [node for node in self.graph.nodes if node.body is not None]
        inside = sum(len(node.body.nodes) for node in fused if node.body is not None)
        total = len(self.graph.nodes) - len(fused) + inside
        lines = [
            f"{total} operators, {inside} of them in {len(fused)} fused loops (LLVM); "
            f"{total - inside} run one by one",
            *self._guards.explain(),
        ]
        written = sum(len(node.into) for node in self.graph.nodes) + len(self.graph.writes)
        if written:
            lines.append(f"each run writes in place {written} times")
        if self._others:
            lines.append(f"{len(self._others)} more programs were recorded for other arguments")
        return "\n".join([*lines, "", str(self.graph)])

    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the program to a file: a zip of JSON and safetensors, never code.

        Args:
            path: where; the file is replaced in one step. An open file is written to.

        Raises:
            ProgramError: the graph holds an object that exists in this process only.
        """
        from flambeau.jit.programs.archive import save_program

        save_program(self, path)

    def __repr__(self) -> str:
        inputs = ", ".join(show_type(value) for value in self.graph.inputs)
        outputs = ", ".join(show_type(value) for value in self.graph.outputs)
        return f"Program({inputs} -> {outputs}, {len(self.graph.nodes)} nodes)"


def pack(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Positional and keyword arguments as one tree."""
    return (list(args), dict(sorted(kwargs.items()))) if kwargs else list(args)


def unpack(packed: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments again."""
    return packed if isinstance(packed, tuple) else (packed, {})
