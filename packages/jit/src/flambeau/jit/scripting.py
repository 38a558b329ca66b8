"""``script`` and the marks that go with it: annotations for a compiler that reads Python's source.

There is no such compiler here. What it would compile runs as Python, with the same results and all
control flow on values; to run faster it is recorded by ``compile``. A file holds no Python: for one
``script`` needs an example, with which it records a program, and refuses control flow on values
with the line and what to write instead. The marks are rows of the core's ``compat/table.py``.
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
script_if_tracing, ignore, unused, export, interface = (
    cast(Mark, _marks[name])
    for name in ("script_if_tracing", "ignore", "unused", "export", "interface"))
annotate, is_scripting = _marks["annotate"], cast(Callable[[], bool], _marks["is_scripting"])


def is_tracing() -> bool:
    """Whether operators are being recorded by a compiled function."""
    return is_compiling()


def script(obj: Any, optimize: Any = None, *, example_inputs: Any = None, **options: Any) -> Any:
    """What runs ``obj`` as it is written: itself, or with an example a program that can be saved.

    Args:
        obj: a function, a module or a class.
        optimize: accepted for compatibility.
        example_inputs: what ``trace`` takes, or a list that holds one tuple of arguments.
        options: accepted for compatibility.

    Returns:
        ``obj``; with ``example_inputs`` a ``Program``, which records again for arguments that
        the first recording does not cover.

    Raises:
        TraceError: Python branches on values; the message names the line and what to write.

    Example:
        >>> import flambeau
        >>> from flambeau import jit
        >>> def first(x):
        ...     return x[:8] * 2 if x.shape[0] > 8 else x
        >>> jit.script(first) is first
        True
        >>> jit.script(first, example_inputs=[(flambeau.ones(9),)])(flambeau.ones(3))
        tensor([1., 1., 1.])
    """
    if example_inputs is None:
        return _marks["script"](obj, **options)
    from flambeau.jit.recording.tracing import trace

    if isinstance(example_inputs, list) and len(example_inputs) == 1 \
            and isinstance(example_inputs[0], tuple):
        (example_inputs,) = example_inputs
    return trace(obj, example_inputs, retrace=True)
