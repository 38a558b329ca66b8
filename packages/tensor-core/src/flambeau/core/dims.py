"""Dimensions that count from the end, counted from the front, with PyTorch's checks."""
from __future__ import annotations

from collections.abc import Iterable


def wrapped_dim(name: str, dim: int, count: int) -> int:
    """A dimension counted from the front.

    Args:
        name: The function that was called.
        dim: The dimension; a negative one counts from the end.
        count: How many dimensions there are; a tensor without dimensions counts as one of one.

    Raises:
        IndexError: there is no such dimension.
    """
    count = max(count, 1)
    if not -count <= dim < count:
        raise IndexError(f"{name}(): Dimension out of range (expected to be in range of "
                         f"[{-count}, {count - 1}], but got {dim})")
    return dim % count


def wrapped_dims(name: str, dims: Iterable[int], count: int) -> list[int]:
    """Dimensions counted from the front, each once.

    Args:
        name: The function that was called.
        dims: The dimensions.
        count: How many there are.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: one is named twice.
    """
    found = [wrapped_dim(name, dim, count) for dim in dims]
    for dim in found:
        if found.count(dim) > 1:
            raise RuntimeError(f"{name}(): dim {dim} appears multiple times in the list of dims")
    return found
