"""Blocks that a profiler has rows for: other packages name them without knowing the profiler."""
from __future__ import annotations

import time

TYPE_CHECKING = False  # typing would cost milliseconds at every start
if TYPE_CHECKING:
    from collections.abc import Callable

#: What is told of blocks: the name, and nanoseconds at beginning and end. Empty: nobody listens.
watchers: list[Callable[[str, int, int], None]] = []


class block:
    """A part of a program with a name, where somebody listens.

    Args:
        name: The name.

    Example:
        >>> from flambeau.core import blocks
        >>> seen = []
        >>> blocks.watchers.append(lambda name, begin, end: seen.append((name, end >= begin)))
        >>> with blocks.block("step"):
        ...     pass
        >>> blocks.watchers.pop() is not None and seen
        [('step', True)]
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self.begin = time.monotonic_ns()

    def __exit__(self, *error: object) -> None:
        end = time.monotonic_ns()
        for watcher in list(watchers):
            watcher(self.name, self.begin, end)
