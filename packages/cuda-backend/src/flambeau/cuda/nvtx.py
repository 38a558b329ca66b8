"""Marks for NVIDIA's profilers, where the package ``nvtx`` is installed; else they do nothing."""
from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


@cache
def _library() -> Any:
    """The package; None, and nothing is marked, where it is not installed: pip install nvtx."""
    if importlib.util.find_spec("nvtx") is None:
        return None
    return importlib.import_module("nvtx")


_depth = [0]


def range_push(msg: str) -> int:
    """Begin a range; returns how many are open around it."""
    if _library():
        _library().push_range(msg)
    _depth[0] += 1
    return _depth[0] - 1


def range_pop() -> int:
    """End the range that began last; returns how many are open around it."""
    if _library():
        _library().pop_range()
    _depth[0] = max(_depth[0] - 1, 0)
    return _depth[0]


def range_start(msg: str) -> Any:
    """Begin a range that another thread may end; returns its handle."""
    return _library().start_range(msg) if _library() else 0


def range_end(range_id: Any) -> None:
    """End a range by its handle."""
    if _library():
        _library().end_range(range_id)


def mark(msg: str) -> None:
    """Mark a point in time."""
    if _library():
        _library().mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Mark the body as a range.

    Args:
        msg: Its name, which is formatted with the other arguments.

    Example:
        >>> from flambeau.cuda import nvtx
        >>> with nvtx.range("step {}", 3):
        ...     pass
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
