"""Which recorded tensors share memory, so that writing in place becomes a new value.

A ``Cell`` is one piece of memory; its value is what its root tensor holds now. A ``Handle`` is one
way of looking at it: the views that lead from the root to a tensor. After a write, every other
handle derives its value from the cell's new one when it is next read.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.ir import Value

Tensor = Any
Geometry = tuple[int, tuple[int, ...], tuple[int, ...], str]


@dataclass(frozen=True)
class Step:
    """One view operator: its key, its arguments but the first, and the type of its result."""

    op: str
    args: tuple[object, ...]
    type: Value

    @property
    def literal(self) -> tuple[object, ...]:
        """The step as a literal of a ``view_write`` node."""
        return (self.op, *self.args)


@dataclass(eq=False)
class Cell:
    """One piece of memory.

    Args:
        root: a tensor over it that no one else holds, with the geometry of the first one met.
        owner: the tensor itself, as long as it lives.
        value: what the root holds now; ``None`` when it has to be captured first.
        origin: the input's or capture's value, when the memory was there before.
        where: the line that made it, when it was made here.
        version: how often it was written since the origin.
        shared: another captured tensor looks at it in a way that was not recorded.
    """

    root: Tensor
    owner: weakref.ref[Tensor]
    value: Value | None
    origin: Value | None = None
    where: str = ""
    version: int = 0
    shared: bool = False
    handles: dict[Geometry, Handle] = field(default_factory=dict)

    @property
    def is_held(self) -> bool:
        """Whether anyone but this recording has a tensor over the memory."""
        return bridge.storage_refcount(self.root) > 1


@dataclass(eq=False)
class Handle:
    """Where a tensor lies in a cell: the views from the root, and its value at a version."""

    cell: Cell
    steps: tuple[Step, ...]
    value: Value | None
    version: int = 0


def geometry(tensor: Tensor) -> Geometry:
    """Offset and layout within the memory."""
    dtype = bridge.dtype_name(tensor.dtype)
    return tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), dtype
