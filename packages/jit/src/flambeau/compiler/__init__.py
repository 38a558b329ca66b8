"""What programs say to PyTorch's compiler; here compiled functions are right without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.jit.compiling import is_recording

__all__ = ["allow_in_graph", "assume_constant_result", "disable", "is_compiling",
           "is_dynamo_compiling", "is_exporting", "list_backends", "reset"]


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *,
            reason: str | None = None) -> Any:
    """The function as it is: each call of a compiled function runs its Python anyway.

    Args:
        fn: A function or class; without it, a decorator.
        recursive: Accepted for compatibility.
        reason: Accepted for compatibility.

    Example:
        >>> from flambeau import compiler
        >>> @compiler.disable
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    return disable if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function as it is: the operators it calls are recorded in any case.

    Args:
        fn: A function, or several.
    """
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function as it is: it is called each time.

    Args:
        fn: A function.
    """
    return fn


def is_compiling() -> bool:
    """Whether a compiled function is being called.

    Example:
        >>> from flambeau import compiler
        >>> compiler.is_compiling()
        False
    """
    return is_recording()


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """False: nothing is exported by calling it."""
    return False


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The code generators that can be named.

    Args:
        exclude_tags: Accepted for compatibility.
    """
    return ["llvm"]


def reset() -> None:
    """Do nothing: graphs are kept by the compiled functions and end with them."""
