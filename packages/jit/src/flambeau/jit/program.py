"""A traced function, ready to run, print and save."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.dims import Dim, evaluate
from flambeau.jit.errors import ProgramError
from flambeau.jit.interpreter import Executor, Scalars
from flambeau.jit.ir import Graph, Value
from flambeau.jit.llvm.fused import FusedRunner
from flambeau.jit.printing import show_type
from flambeau.jit.tree import Spec, flatten, unflatten

Tensor = Any


class Program:
    """A graph with its captured tensors, called like the function it was traced from.

    Made by ``trace`` and ``load``. Results carry no history: a program is for inference, or holds
    a whole training step. Captured parameters are shared with the module they came from.

    Args:
        graph: the graph, after its passes.
        takes: structure of the arguments.
        gives: structure of the result.
    """

    def __init__(self, graph: Graph, takes: Spec, gives: Spec) -> None:
        self.graph = graph
        self.takes = takes
        self.gives = gives
        self._fast = Executor(graph, FusedRunner())
        self._reference = Executor(graph)

    def __call__(self, *args: Any) -> Any:
        """Run the program.

        Args:
            args: as the traced function takes them; sizes that were recorded as symbols may
                differ, everything else must agree with the example.

        Returns:
            What the function returned.

        Raises:
            ProgramError: arguments that the program was not made for.
        """
        return self._run(args, self._fast)

    def reference(self, *args: Any) -> Any:
        """The same by the interpreter alone, operator by operator."""
        return self._run(args, self._reference)

    def _run(self, args: Sequence[Any], executor: Executor) -> Any:
        tensors: list[Tensor] = []
        if flatten(list(args), tensors) != self.takes:
            raise ProgramError(
                "the arguments are not built like the example the program was traced with; it "
                f"takes {self.takes}"
            )
        sizes = self.bind(tensors)
        captures = [capture.tensor for capture in self.graph.captures]
        with bridge.no_grad():
            results = executor.run(tensors, captures, Scalars(sizes))
        return unflatten(self.gives, results)

    def bind(self, tensors: Sequence[Tensor]) -> dict[str, int]:
        """The sizes of the symbols for these inputs.

        Raises:
            ProgramError: a tensor's type or shape is not what the program takes.
        """
        sizes: dict[str, int] = {}
        for number, (value, tensor) in enumerate(zip(self.graph.inputs, tensors, strict=True)):
            given = bridge.value_of(tensor)
            if (given.dtype, len(given.shape)) != (value.dtype, len(value.shape)):
                self.refuse(number, value, given)
            shape: tuple[int, ...] = tuple(tensor.shape)
            for size, actual in zip(value.shape, shape, strict=True):
                if isinstance(size, Dim) and len(size.terms) == 1 and not size.offset:
                    sizes.setdefault(size.names[0], actual)
                if evaluate(size, sizes) != actual:
                    self.refuse(number, value, given)
        for name, recorded in self.graph.symbols.items():
            if sizes[name] < min(recorded):
                raise ProgramError(
                    f"{name} is {sizes[name]}, but the function was traced for {name} of at least "
                    f"{min(recorded)}: Python takes another path below, or fails"
                )
        return sizes

    def refuse(self, number: int, value: Value, given: Value) -> None:
        wanted = show_type(value)
        raise ProgramError(
            f"argument {number} must be {wanted}, got {show_type(given)}; trace again with an "
            "example like it, or name the size that varies with dynamic="
        )

    def explain(self) -> str:
        """What runs: the graph, and what each region became."""
        fused = [node for node in self.graph.nodes if node.body is not None]
        inside = sum(len(node.body.nodes) for node in fused if node.body is not None)
        total = len(self.graph.nodes) - len(fused) + inside
        lines = [
            f"{total} operators, {inside} of them in {len(fused)} fused loops (LLVM); "
            f"{total - inside} run one by one",
        ]
        for name, sizes in self.graph.symbols.items():
            tried = ", ".join(map(str, sorted(set(sizes))))
            lines.append(f"{name} may be any size from {min(sizes)} (recorded with {tried})")
        if self.graph.writes:
            lines.append(f"each run writes {len(self.graph.writes)} captured or given tensors")
        return "\n".join([*lines, "", str(self.graph)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a file: a zip of JSON and safetensors, never code.

        Args:
            path: where; the file is replaced in one step.

        Raises:
            ProgramError: the graph holds an object that exists in this process only.
        """
        from flambeau.jit.archive import save_program

        save_program(self, path)

    def __repr__(self) -> str:
        inputs = ", ".join(show_type(value) for value in self.graph.inputs)
        outputs = ", ".join(show_type(value) for value in self.graph.outputs)
        return f"Program({inputs} -> {outputs}, {len(self.graph.nodes)} nodes)"
