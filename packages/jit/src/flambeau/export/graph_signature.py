"""What the parameters and results of an exported graph stand for."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

__all__ = ["ExportGraphSignature", "InputKind", "InputSpec", "OutputKind", "OutputSpec",
           "TensorArgument"]


class InputKind(enum.Enum):
    """What a parameter of the graph is."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """What a result of the graph is; here always the user's."""

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclass
class TensorArgument:
    """A tensor.

    Args:
        name: The node's name.
    """

    name: str


@dataclass
class InputSpec:
    """A parameter of the graph.

    Args:
        kind: What it is.
        arg: Its node.
        target: The path of the parameter or buffer; None for a user's input.
        persistent: Whether a buffer is part of the state.
    """

    kind: InputKind
    arg: TensorArgument
    target: str | None = None
    persistent: bool | None = None


@dataclass
class OutputSpec:
    """A result of the graph.

    Args:
        kind: What it is.
        arg: Its node.
        target: None.
    """

    kind: OutputKind
    arg: TensorArgument
    target: str | None = None


@dataclass
class ExportGraphSignature:
    """What the parameters and results of an exported graph stand for.

    Buffers that the program changes are written in place, so they are no results.

    Args:
        input_specs: An entry for each parameter.
        output_specs: An entry for each result.
    """

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _of(self, kind: InputKind) -> list[InputSpec]:
        return [each for each in self.input_specs if each.kind is kind]

    @property
    def user_inputs(self) -> tuple[str, ...]:
        """Names of the nodes that are arguments of a call."""
        return tuple(each.arg.name for each in self._of(InputKind.USER_INPUT))

    @property
    def user_outputs(self) -> tuple[str, ...]:
        """Names of the nodes that are results."""
        return tuple(each.arg.name for each in self.output_specs)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Paths of the parameters."""
        return tuple(str(each.target) for each in self._of(InputKind.PARAMETER))

    @property
    def buffers(self) -> tuple[str, ...]:
        """Paths of the buffers."""
        return tuple(str(each.target) for each in self._of(InputKind.BUFFER))

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """Names of the constants."""
        return tuple(str(each.target) for each in self._of(InputKind.CONSTANT_TENSOR))

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """Name of a node -> path of the parameter."""
        return {each.arg.name: str(each.target) for each in self._of(InputKind.PARAMETER)}

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """Name of a node -> path of the buffer."""
        return {each.arg.name: str(each.target) for each in self._of(InputKind.BUFFER)}

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """Name of a node -> name of the constant."""
        return {each.arg.name: str(each.target) for each in self._of(InputKind.CONSTANT_TENSOR)}

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """Paths of the buffers that are not part of the state."""
        return tuple(str(each.target) for each in self._of(InputKind.BUFFER)
                     if each.persistent is False)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """Empty: buffers are written in place."""
        return {}
