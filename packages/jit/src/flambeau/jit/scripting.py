"""``script``, and the marks that go with it.

``script`` reads Python's source where a program is recorded: branches and loops on values become
part of it (``flambeau.jit.scripted``). Called, what it gives runs as Python, which is as fast; the
marks have no effect, and are rows of the core's ``compat/table.py``.
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
    """Whether operators are being recorded, by ``trace`` or by a compiled function.

    Example:
        >>> from flambeau import jit
        >>> jit.is_tracing()
        False
    """
    from flambeau.jit.recording.active import current

    return is_compiling() or current() is not None


def script(obj: Any, optimize: Any = None, *, example_inputs: Any = None, **options: Any) -> Any:
    """A function or module that can be saved with its branches and loops on values.

    Called, it runs as Python does, in eager mode. ``save(path)``, ``graph`` and ``jit.save`` record
    a program for the arguments of the first call, in which ``if``, ``while``, ``for``, ``and``,
    ``not`` and conditional expressions on tensors are decided in each run; other control flow is
    Python's, and its outcome part of the program.

    Args:
        obj: a function or a module; a module's parameters are shared. Anything else, such as a
            class, is given back as it is.
        optimize: accepted for compatibility.
        example_inputs: what ``trace`` takes, or a list that holds one tuple of arguments.
        options: accepted for compatibility.

    Returns:
        A ``ScriptFunction``, or a module of the same class that is a ``ScriptModule`` as well; with
        ``example_inputs`` a ``Program``, which records again for arguments that the first recording
        does not cover.

    Raises:
        TraceError: with ``example_inputs``: Python does what a program cannot hold, such as
            branches that give tensors of two shapes; the message names the line.

    Example:
        >>> import flambeau
        >>> from flambeau import jit
        >>> @jit.script
        ... def halved(x):
        ...     while x.sum() > 1:
        ...         x = x / 2
        ...     return x
        >>> halved(flambeau.ones(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    from flambeau.jit.scripted.objects import scripted

    made = scripted(obj)
    if example_inputs is None:
        return obj if made is None else made
    from flambeau.jit.recording.tracing import trace

    if isinstance(example_inputs, list) and len(example_inputs) == 1 \
            and isinstance(example_inputs[0], tuple):
        (example_inputs,) = example_inputs
    return trace(obj if made is None else made, example_inputs, retrace=True)
