"""What stands in a node besides values: numbers, text, dtypes, devices, run-time scalars."""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.jit.dims import Dim

#: Nodes about a generator: its state as a tensor, a state for it, a seed for it.
GET_STATE, SET_STATE, SET_SEED = "get_random_state", "set_random_state", "set_random_seed"


@dataclass(frozen=True)
class DType:
    """A dtype by name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Device:
    """A device by name."""

    name: str

    def __str__(self) -> str:
        return repr(self.name)


@dataclass(frozen=True)
class Slot:
    """A scalar that is given at each run: number ``index``, of kind ``int float bool complex``."""

    index: int
    kind: str

    def __str__(self) -> str:
        return f"${self.index}:{self.kind}"


@dataclass(frozen=True, eq=False)
class Opaque:
    """A Python object that belongs to this process, such as a generator; it cannot be saved."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def __str__(self) -> str:
        return f"<{type(self.value).__name__}>"


Scalar = None | bool | int | float | complex | str
Literal = Scalar | Dim | DType | Device | Slot | Opaque | tuple["Literal", ...]


def is_literal(value: object) -> bool:
    """Whether a node may hold this beside its values."""
    if isinstance(value, tuple):
        return all(map(is_literal, value))
    kinds = (bool, int, float, complex, str, Dim, DType, Device, Slot, Opaque)
    return value is None or isinstance(value, kinds)


def show(value: object) -> str:
    """How a literal is printed."""
    if isinstance(value, tuple):
        return "[" + ", ".join(map(show, value)) + "]"
    return repr(value) if isinstance(value, str | float | complex) else str(value)
