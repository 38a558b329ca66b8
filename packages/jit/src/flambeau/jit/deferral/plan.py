"""What the core runs in place of calls that waited."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Plan:
    """What runs in place of calls that waited.

    Args:
        steps: for the core: ``(call,)``, code with the numbers of its operands and scalars,
            ``(call, code)`` where the code is over the call's result, items that run block by
            block of rows, or a device's kernel with the numbers of its values and results.
        about: for people, a line for each step.
        kept: what the steps point to.
        alone: calls that run by themselves, much as they would have done without waiting. In time
            those do not wait any more.
        doubtful: whether the calls may be faster one by one, which the first runs find out.
    """

    steps: list[tuple[Any, ...]] = field(default_factory=list)
    about: list[str] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    alone: tuple[int, ...] = ()
    doubtful: bool = False
