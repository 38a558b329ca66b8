"""Marks of what stays as it is in later versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}
Marked = TypeVar("Marked")


def compatibility(is_backward_compatible: bool = False) -> Callable[[Marked], Marked]:
    """Mark a function or class, which stays what it is.

    Args:
        is_backward_compatible: Whether it is promised to stay.
    """
    def mark(fn: Marked) -> Marked:
        _MARKED_WITH_COMPATIBILITY.setdefault(fn)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(fn)
        return fn

    return mark
