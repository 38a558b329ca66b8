"""``script`` and the marks that go with it: annotations for a compiler that reads Python's source.

There is no such compiler here. What it would compile runs as Python, with the same results; to run
faster it is recorded, by ``compile`` or ``trace``. The marks are rows of the core's
``compat/table.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar, cast, overload

from flambeau.core.compat.modules import functions
from flambeau.jit.compiling import is_compiling

__all__ = ["Final", "annotate", "export", "ignore", "interface", "is_scripting", "is_tracing",
           "script", "script_if_tracing", "unused"]

_F = TypeVar("_F", bound=Callable[..., Any])


class Mark(Protocol):
    """What marks a function: called with it, or with options for a decorator."""

    @overload
    def __call__(self, fn: _F, /, *args: Any, **options: Any) -> _F: ...
    @overload
    def __call__(self, drop: bool | None = None, /, **options: Any) -> Callable[[_F], _F]: ...


_marks = functions("jit")
script, script_if_tracing, ignore, unused, export, interface = (
    cast(Mark, _marks[name])
    for name in ("script", "script_if_tracing", "ignore", "unused", "export", "interface"))
annotate, is_scripting = _marks["annotate"], cast(Callable[[], bool], _marks["is_scripting"])


def is_tracing() -> bool:
    """Whether operators are being recorded by a compiled function."""
    return is_compiling()
