"""Which function computes each operator: the files beside this one fill the tables."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from flambeau.onnx.errors import ImportedError

#: Takes the call and its inputs (``None`` for those left out); returns the output, or a tuple.
Function = Callable[..., Any]


@dataclass(frozen=True)
class Operator:
    """How an operator is computed.

    Args:
        compute: the function of tensors.
        host: which inputs are given as numbers; all others are tensors.
        raw: whether values are given as they are.
        placed: whether it needs ``call.env`` or ``call.device``.
    """

    compute: Function
    host: Collection[int] = ()
    raw: bool = False
    placed: bool = False


#: The domain of operators that onnxruntime adds, and that its optimizers and quantizers write.
CONTRIBUTED = "com.microsoft"

OPERATORS: dict[str, Operator] = {}
#: Operators of values that Python knows, where all inputs are.
HOST: dict[str, Function] = {}


def computes(*names: str, host: Collection[int] = (), raw: bool = False, placed: bool = False
             ) -> Callable[[Function], Function]:
    """Make a function the one that computes operators."""

    def register(function: Function) -> Function:
        OPERATORS.update(dict.fromkeys(names, Operator(function, frozenset(host), raw, placed)))
        return function

    return register


def contributed(*names: str, host: Collection[int] = ()) -> Callable[[Function], Function]:
    """Make a function the one that computes operators of onnxruntime's own domain."""
    return computes(*(f"{CONTRIBUTED}:{name}" for name in names), host=host)


def on_host(*names: str) -> Callable[[Function], Function]:
    """Make a function the one that computes operators of values that Python knows."""

    def register(function: Function) -> Function:
        HOST.update(dict.fromkeys(names, function))
        return function

    return register


@dataclass(slots=True)
class Call:
    """One node: what its operator is told.

    Args:
        op: the operator.
        name: what the node is called in the file.
        opset: version of the operators.
        attributes: its attributes; graphs are plans. ``type_of_k`` is ONNX's number of the
            element type of input k, where it is of 4 or 2 bits and lies in bytes here.
        outputs: which outputs are named.
        env: values by name, for operators that say they need them.
        device: where new tensors are made, the same.
    """

    op: str
    name: str
    opset: int
    attributes: dict[str, Any]
    outputs: tuple[bool, ...]
    env: dict[str, Any] = field(default_factory=dict)
    device: Any = "cpu"

    def get(self, name: str, otherwise: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, otherwise)

    def wants(self, k: int) -> bool:
        """Whether an output is named."""
        return k < len(self.outputs) and self.outputs[k]

    def refuse(self, why: str) -> ImportedError:
        """The error that says what cannot be computed."""
        name = f" ({self.name})" if self.name else ""
        return ImportedError(f"onnx.load(): {self.op}{name}: {why}")


def given_axes(call: Call, axes: Any) -> list[int] | None:
    """Axes, which older versions have as an attribute and newer ones as an input."""
    found = call.get("axes") if axes is None else axes
    return None if found is None else list(found)
