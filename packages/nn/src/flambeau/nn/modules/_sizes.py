"""Sizes given once for every dimension, or once for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flambeau.core._core import ArgumentError

Size = int | tuple[int, ...]


def check_integer(owner: object, **sizes: Any) -> None:
    """Refuse sizes that are no integers of at least 0, by the name that the user gave them.

    Args:
        owner: The module that is being made, for the error.
        sizes: The arguments.

    Raises:
        TypeError: One is not an integer.
        ArgumentError: One is negative; it is a ``ValueError`` and, as in PyTorch, a
            ``RuntimeError``.
    """
    for name, size in sizes.items():
        if not hasattr(size, "__index__"):
            raise TypeError(
                f"{type(owner).__name__}(): {name} must be an int, not {type(size).__name__}"
            )
        if size.__index__() < 0:
            raise ArgumentError(f"{type(owner).__name__}(): {name} is {size}; it must be 0 or more")


def spread(value: Any, count: int, name: str) -> tuple[Any, ...]:
    """``n`` repeated ``count`` times, or the ``count`` values given.

    Args:
        value: One number, or as many as there are dimensions.
        count: The number of dimensions.
        name: The argument, for the error.

    Raises:
        ValueError: There are more or fewer values.

    Example:
        >>> spread(3, 2, "kernel_size")
        (3, 3)
    """
    if not isinstance(value, Iterable):
        return (value,) * count
    values = tuple(value)
    if len(values) != count:
        raise ValueError(f"{name} is one number or {count}, not {values}")
    return values
