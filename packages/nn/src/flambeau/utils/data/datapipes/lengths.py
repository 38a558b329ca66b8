"""Lengths of stages, which some sources do not have."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any


def length_of(source: Any, stage: Any) -> int:
    """A source's length.

    Raises:
        TypeError: It has none.
    """
    if not isinstance(source, Sized):
        raise TypeError(f"{type(stage).__name__} instance doesn't have valid length")
    return len(source)


def lengths_of(sources: Iterable[Any], stage: Any) -> list[int]:
    """The lengths of several sources."""
    return [length_of(source, stage) for source in sources]


def check_stages(stages: tuple[Any, ...], kind: type) -> None:
    """Check what several stages are made one of.

    Raises:
        ValueError: There is none.
        TypeError: One is of another kind.
    """
    if not stages:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(stage, kind) for stage in stages):
        raise TypeError(f"Expected all inputs to be `{kind.__name__}`")


def told_length(stage: Any) -> int:
    """The length that a program said a stage has.

    Raises:
        TypeError: It said none.
    """
    length: int = stage.length
    if length == -1:
        raise TypeError(f"{type(stage).__name__} instance doesn't have valid length")
    return length
