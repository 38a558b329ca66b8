"""Warnings that a recorded call gives: they would be missing at a replay."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .numbers import MISSING
from .reads import Reads


class _Listener:
    """Stands where a filter has a pattern, and matches nothing."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self.tell = tell

    def match(self, text: str) -> None:
        """A warning asks the filters what to do with it."""
        self.tell()


@contextmanager
def hear_warnings(tell: Callable[[], None]) -> Iterator[None]:
    """Have a function called when a warning is given that was not given at its line before."""
    heard: Any = ("ignore", _Listener(tell), Warning, None, 0)
    filters: Any = warnings.filters
    filters.insert(0, heard)    # unknown to Python's count of changes: lines keep what they told
    try:
        yield
    finally:
        filters[:] = [each for each in filters if each is not heard]


def guard_filters(reads: Reads) -> None:
    """Warnings that were given before are given again once filters change."""
    filters: Any = warnings.filters
    reads.guard("item", vars(warnings), "filters", filters)
    reads.guard("list", filters, MISSING, tuple(filters))
