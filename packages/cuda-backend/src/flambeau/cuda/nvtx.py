"""Marks for NVIDIA's profilers, through CuPy; they do nothing where no GPU is used."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _library() -> Any:
    """CuPy's functions once a GPU is used; before, and without one, nothing is marked."""
    from flambeau.cuda import is_initialized, runtime
    from flambeau.cuda.cupy_module import cupy

    if runtime.device_type() != "cuda" or not is_initialized():
        return None
    return cupy().cuda.nvtx


_depth = [0]


def range_push(msg: str) -> int:
    """Begin a range; returns how many are open around it."""
    library = _library()
    if library:
        library.RangePush(msg)
    _depth[0] += 1
    return _depth[0] - 1


def range_pop() -> int:
    """End the range that began last; returns how many are open around it."""
    library = _library()
    if library:
        library.RangePop()
    _depth[0] = max(_depth[0] - 1, 0)
    return _depth[0]


def range_start(msg: str) -> Any:
    """Begin a range that ``range_end`` ends; returns its handle."""
    return range_push(msg)


def range_end(range_id: Any) -> None:
    """End a range by its handle."""
    range_pop()


def mark(msg: str) -> None:
    """Mark a point in time."""
    library = _library()
    if library:
        library.Mark(msg)


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
