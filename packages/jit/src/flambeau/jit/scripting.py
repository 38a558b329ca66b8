"""``script`` and the marks that go with it: annotations for a compiler that reads Python's source.

There is no such compiler here. What it would compile runs as Python, with the same results; to run
faster it is recorded, by ``compile`` or ``trace``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.jit.compiling import is_recording

__all__ = ["Final", "annotate", "export", "ignore", "interface", "is_scripting", "is_tracing",
           "script", "script_if_tracing", "unused"]


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """The function, class or module as it is.

    Args:
        obj: What PyTorch would compile from its source.
        args: Accepted for compatibility, as are keyword arguments.

    Example:
        >>> import flambeau
        >>> from flambeau import jit
        >>> @jit.script
        ... def relu6(x):
        ...     return x.clamp(0, 6)
        >>> relu6(flambeau.tensor([-1.0, 7.0]))
        tensor([0., 6.])
    """
    return obj


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is.

    Args:
        fn: A function.
    """
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function as it is; with a flag, a decorator.

    Args:
        drop: The function, or a flag that is accepted for compatibility.
    """
    return drop if callable(drop) else script_if_tracing


unused = export = interface = script_if_tracing


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value.

    Args:
        the_type: Its type, for readers.
        the_value: Anything.
    """
    return the_value


def is_scripting() -> bool:
    """False: Python is running."""
    return False


def is_tracing() -> bool:
    """Whether operators are being recorded by a compiled function."""
    return is_recording()
