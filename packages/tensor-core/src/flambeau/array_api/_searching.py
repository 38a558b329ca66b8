"""Searching, sorting and choosing elements."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau.array_api._promotion import as_arrays, together


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The position of the greatest element, the first of equals."""
    return flambeau.argmax(x, axis, keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The position of the least element, the first of equals."""
    return flambeau.argmin(x, axis, keepdims)


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The positions of the elements that are not zero, axis by axis."""
    if x.ndim == 0:
        raise ValueError("nonzero(): an array without dimensions has no indices; write x != 0")
    return tuple(flambeau.nonzero(x).unbind(1))


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """Elements of one array or the other."""
    if isinstance(x1, flambeau.Tensor) or isinstance(x2, flambeau.Tensor):
        x1, x2 = together(x1, x2)
    return flambeau.where(condition, x1, x2)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where elements belong in sorted ones."""
    x1, x2 = as_arrays(x1, x2)
    return flambeau.searchsorted(x1, x2, side=side, sorter=sorter)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The positions that put elements into order."""
    return flambeau.argsort(x, axis, descending, stable)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Elements in order."""
    return flambeau.sort(x, axis, descending, stable)[0]


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Slices by their positions along an axis; negative positions count from the end."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take(): an array of {x.ndim} dimensions has to be given an axis")
    at = 0 if axis is None else axis
    return flambeau.index_select(x, at, _positions(indices, x.size(at)))


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """Elements by their positions along an axis, for each line its own."""
    return flambeau.take_along_dim(x, _positions(indices, x.size(axis)), axis)


def _positions(indices: Any, size: int) -> Any:
    """Positions counted from the start."""
    positions = indices.long()
    return flambeau.where(positions < 0, positions + size, positions)


__all__ = ["argmax", "argmin", "argsort", "nonzero", "searchsorted", "sort", "take",
           "take_along_axis", "where"]
