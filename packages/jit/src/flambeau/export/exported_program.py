"""Exported programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flambeau import nn
from flambeau.export._graphs import Translation, kind_of
from flambeau.export.graph_signature import ExportGraphSignature, InputKind
from flambeau.fx.experimental import _operators
from flambeau.fx.graph import Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.interpreter import Transformer
from flambeau.jit.programs.program import Program
from flambeau.jit.tree import unflatten

__all__ = ["ExportedProgram", "default_decompositions"]


def default_decompositions() -> dict[Any, Any]:
    """What `ExportedProgram.run_decompositions` replaces if it is not told: nothing.

    Returns:
        An empty table; operators may be added to it.

    Example:
        >>> from flambeau.export import default_decompositions
        >>> default_decompositions()
        {}
    """
    return {}


class ExportedProgram:
    """What `flambeau.export.export` gives: a graph of operators, a state, what it takes.

    Args:
        program: The traced program.
        names: Names for the tensors among its arguments.
        state: Names of parameters and buffers among what it captured.
        example_inputs: The arguments that it was exported with.
    """

    def __init__(self, program: Program, names: list[str], state: set[str],
                 example_inputs: Any = None) -> None:
        self._program = program
        self._names = names
        self._state = state
        self.example_inputs = example_inputs
        self._kinds = [kind_of(capture, state) for capture in program.graph.captures]
        made = Translation(program.graph, names, self._kinds)
        self.graph_signature: ExportGraphSignature = made.signature
        self.graph_module = GraphModule(dict(made.parts), made.graph)

    @property
    def dialect(self) -> str:
        """``TRAINING``: operators may write in place."""
        return "TRAINING"

    @property
    def graph(self) -> Graph:
        """The graph; parameters and buffers are among its parameters."""
        return self.graph_module.graph

    def _captured(self, *kinds: InputKind) -> dict[str, Any]:
        pairs = zip(self._program.graph.captures, self._kinds, strict=True)
        return {capture.name: capture.tensor for capture, kind in pairs if kind in kinds}

    @property
    def state_dict(self) -> dict[str, Any]:
        """Path -> parameter or buffer."""
        return self._captured(InputKind.PARAMETER, InputKind.BUFFER)

    @property
    def constants(self) -> dict[str, Any]:
        """Name -> constant."""
        return self._captured(InputKind.CONSTANT_TENSOR)

    @property
    def range_constraints(self) -> dict[str, tuple[int, int | None]]:
        """Name of a size that may vary -> the least and the greatest that it may be."""
        graph = self._program.graph
        found = {}
        for name in graph.symbols:
            sizes = graph.range_of(name)
            last = sizes.stop - 1
            found[name] = (sizes.start, None if last >= 2**61 else last)
        return found

    def parameters(self) -> Iterator[Any]:
        """The parameters."""
        return iter(self._captured(InputKind.PARAMETER).values())

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """Paths and parameters."""
        return iter(self._captured(InputKind.PARAMETER).items())

    def buffers(self) -> Iterator[Any]:
        """The buffers."""
        return iter(self._captured(InputKind.BUFFER).values())

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """Paths and buffers."""
        return iter(self._captured(InputKind.BUFFER).items())

    def module(self, check_guards: bool = True) -> ExportedModule:
        """The program as a module with the parameters and buffers, which it shares.

        Args:
            check_guards: Has no effect: arguments are always checked.
        """
        return ExportedModule(self)

    def run_decompositions(self, decomp_table: dict[Any, Any] | None = None) -> ExportedProgram:
        """The program with some operators as others.

        Args:
            decomp_table: Operator -> a function of the same arguments; None changes nothing.
        """
        made = ExportedProgram(self._program, self._names, self._state, self.example_inputs)
        if decomp_table:
            made.graph_module = _Decompose(made.graph_module, decomp_table).transform()
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: `module` gives what is called."""
        raise RuntimeError("Unable to call ExportedProgram directly. You should use "
                           "`exported_program.module()` instead.")

    def __str__(self) -> str:
        code = self.graph_module.print_readable(print_output=False)
        lines = [f"    {each.arg.name}: {each.kind.name}"
                 + (f" target={each.target!r}" if each.target else "")
                 for each in self.graph_signature.input_specs]
        return "\n".join(["ExportedProgram:", code, "Graph signature:", *lines,
                          f"Range constraints: {self.range_constraints}"])


class _Decompose(Transformer):
    def __init__(self, module: GraphModule, table: dict[Any, Any]) -> None:
        super().__init__(module)
        self.table = _operators.Decompositions(table)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        function = self.table.find(str(getattr(target, "key", "")), target)
        if function is not None:
            return function(*args, **kwargs)
        return super().call_function(target, args, kwargs)


class ExportedModule(GraphModule):
    """An exported program as a module.

    Args:
        exported: The program.
    """

    def __init__(self, exported: ExportedProgram) -> None:
        graph, root = _unlifted(exported)
        super().__init__(root, graph, "ExportedModule")
        self.__dict__["_exported"] = exported

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments like those it was exported with."""
        program = self.__dict__["_exported"]._program
        tensors = program._tensors(args, kwargs)
        program.bind(tensors)
        results = super().__call__(*tensors)
        return unflatten(program.gives, list(results))

    def train(self, mode: bool = True) -> Any:
        """Refused for the other mode: what the module does was decided when it was exported.

        Args:
            mode: True to train, False to evaluate.
        """
        if self.__dict__.get("_exported") is not None:
            self.__dict__["_exported"]._program.train(mode)
        return self


def _unlifted(exported: ExportedProgram) -> tuple[Graph, dict[str, Any]]:
    """The graph with attributes for parameters and buffers, and those."""
    graph = Graph()
    targets = {each.arg.name: each.target for each in exported.graph_signature.input_specs}
    root: dict[str, Any] = {}
    tensors = {**exported.state_dict, **exported.constants}
    values: dict[Any, Any] = {}
    for node in exported.graph.nodes:
        target = targets.get(node.name) if node.op == "placeholder" else None
        if target is not None:
            tensor = tensors[target]
            needs = tensor.requires_grad and not isinstance(tensor, nn.Parameter)
            root[target] = nn.Parameter(tensor) if needs and tensor.is_leaf else tensor
            values[node] = graph.get_attr(target)
        elif node.op == "output":
            graph.output(tuple(values[each] for each in node.args[0]))
        else:
            if node.op == "get_attr":       # a branch
                root[str(node.target)] = getattr(exported.graph_module, str(node.target))
            values[node] = graph.node_copy(node, lambda n: values[n])
    return graph, root
