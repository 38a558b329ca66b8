"""Where a call is recorded: `flambeau.jit` gives what stands for its results."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: Asked first by operators that look at values, with their names and arguments.
listener: Callable[[str, Sequence[Any]], Any] | None = None


def recorded(name: str, *args: Any) -> Any:
    """What stands for the results of a call; None: it is to be computed."""
    return None if listener is None else listener(name, args)
