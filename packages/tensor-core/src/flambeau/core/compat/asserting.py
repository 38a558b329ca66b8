"""A condition that recorded programs check, too: `torch._assert`."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core


def _assert(condition: Any, message: Any = "") -> None:
    """Raise AssertionError where a condition does not hold; recorded where it is a proxy."""
    if _core.any_shown(condition):
        _core.show_call(_assert, (condition, message), {})
    elif not condition:
        raise AssertionError(message)
