"""What is known of the tensors met while recording: their cells and handles."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.aliasing import Cell, Handle, geometry
from flambeau.jit.ir import Value

Tensor = Any


class Memory:
    """Finds the handle of a tensor, by the object or by where it lies.

    Tensors are held weakly, so that their being dropped shows; the root of each cell keeps the
    memory, so that no other tensor can be allocated there.
    """

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self._by_memory: dict[int, Cell] = {}
        self._by_object: dict[int, tuple[weakref.ref[Tensor], Handle]] = {}

    def find(self, tensor: Tensor) -> Handle | None:
        """The handle of a tensor: of this object, or of one that looks at the same elements."""
        entry = self._by_object.get(id(tensor))
        if entry is not None and entry[0]() is tensor:
            return entry[1]
        cell = self.cell_at(tensor)
        handle = cell.handles.get(geometry(tensor)) if cell is not None else None
        if handle is not None:
            self.remember(tensor, handle)
        return handle

    def cell_at(self, tensor: Tensor) -> Cell | None:
        """The cell a tensor lies in, however it looks at it."""
        return self._by_memory.get(bridge.memory_address(tensor))

    def add_cell(
        self, tensor: Tensor, value: Value | None, origin: Value | None = None, where: str = ""
    ) -> Handle:
        """A new cell with this tensor as its root."""
        cell = Cell(tensor.detach(), weakref.ref(tensor), value, origin, where)
        self.cells.append(cell)
        self._by_memory.setdefault(bridge.memory_address(tensor), cell)
        return self.add(tensor, Handle(cell, (), value))

    def add(self, tensor: Tensor, handle: Handle) -> Handle:
        """Remember a tensor that looks at a cell in its own way."""
        handle.cell.handles.setdefault(geometry(tensor), handle)
        self.remember(tensor, handle)
        return handle

    def remember(self, tensor: Tensor, handle: Handle) -> None:
        self._by_object[id(tensor)] = (weakref.ref(tensor), handle)

    def clear(self) -> None:
        """Let go of everything."""
        self.drop(self.cells)
        self.cells = []
        self._by_memory.clear()
        self._by_object.clear()

    def drop(self, cells: Iterable[Cell]) -> None:
        """Cells and their handles point at each other: part them, or memory would wait for gc."""
        for cell in cells:
            cell.handles.clear()
