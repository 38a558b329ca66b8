"""Sizes given once for both dimensions, or once for each."""

from __future__ import annotations

from collections.abc import Iterable

IntPair = int | tuple[int, int]


def pair(value: int | Iterable[int], name: str) -> tuple[int, int]:
    """``n`` or ``(m, n)`` as a tuple of two.

    Raises:
        ValueError: There are not one or two values.

    Example:
        >>> pair(3, "kernel_size")
        (3, 3)
    """
    if not isinstance(value, Iterable):
        return (value, value)
    values = tuple(value)
    if len(values) != 2:
        raise ValueError(f"{name} is one number or two (height, width), not {values}")
    return (values[0], values[1])
