"""Products of vectors and matrices."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau.array_api._promotion import together


def same_size(name: str, x1: Any, x2: Any, axis: int) -> None:
    """Refuse vectors of different lengths: the axis they lie along is not broadcast."""
    if x1.size(axis) != x2.size(axis):
        raise ValueError(f"{name}(): vectors along axis {axis} of arrays of shapes "
                         f"{tuple(x1.shape)} and {tuple(x2.shape)} are not of one length")


def matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product."""
    return flambeau.matmul(*together(x1, x2))


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Sums of products over several axes."""
    x1, x2 = together(x1, x2)
    return flambeau.tensordot(x1, x2, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Sums of products along an axis of one size, the first factor conjugated."""
    x1, x2 = together(x1, x2)
    same_size("vecdot", x1, x2, axis)
    if x1.is_floating_point() or x1.is_complex():
        return flambeau.linalg.vecdot(x1, x2, dim=axis)
    return flambeau.sum(x1 * x2, axis, dtype=x1.dtype)


__all__ = ["matmul", "tensordot", "vecdot"]
