"""Calls shown to classes and modes: what ``__torch_function__`` can see, and helpers for it.

A class whose objects are arguments of this library's functions may define the class method
``__torch_function__(cls, func, types, args=(), kwargs=None)``. Subclasses of ``Tensor`` inherit
one that runs the call and gives its tensors as the subclass. A ``TorchFunctionMode`` sees the
calls inside a ``with`` block, whatever their arguments are. The name is PyTorch's, so that classes
written for it work here.
"""
from __future__ import annotations

from functools import wraps

from flambeau.core import _core
from flambeau.core.once import once

TYPE_CHECKING = False  # typing would cost time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch",
           "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions",
           "get_testing_overrides", "handle_torch_function", "has_torch_function",
           "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
           "is_tensor_method_or_property", "redispatch_function", "resolve_name",
           "wrap_torch_function"]

has_torch_function_variadic = _core.any_shown
has_torch_function_unary = _core.any_shown


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a call with these arguments is to be shown to a class or a mode.

    Args:
        relevant_args: The arguments whose classes may ask for calls.

    Example:
        >>> import flambeau
        >>> flambeau.overrides.has_torch_function((flambeau.ones(2), 3))
        False
    """
    return _core.any_shown(*relevant_args)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any],
                          *args: Any, **kwargs: Any) -> Any:
    """Show a call to the modes and classes that want to see it, and return their answer.

    Args:
        public_api: The function that was called.
        relevant_args: The arguments whose classes are asked, subclasses before their bases.
        args: All its arguments.
        kwargs: Its keywords.

    Raises:
        TypeError: all of them answer ``NotImplemented``.
    """
    return _core.show_call(public_api, args, kwargs, tuple(relevant_args))


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Let calls of a function be shown; a decorator.

    Args:
        dispatcher: Takes what the function takes, and returns the arguments that may have a
            class of their own.

    Example:
        >>> import flambeau
        >>> @flambeau.overrides.wrap_torch_function(lambda x: (x,))
        ... def twice(x):
        ...     return x + x
        >>> class Counted(flambeau.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return super().__torch_function__(func, types, args, kwargs)
        >>> type(twice(flambeau.ones(2).as_subclass(Counted))).__name__
        twice
        'Counted'
    """
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def shown(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if _core.any_shown(*relevant):
                return _core.show_call(shown, args, kwargs, relevant)
            return function(*args, **kwargs)
        return shown
    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor, or of a class with ``__torch_function__``.

    Args:
        inp: Anything.

    Example:
        >>> import flambeau
        >>> flambeau.overrides.is_tensor_like(flambeau.ones(1))
        True
        >>> flambeau.overrides.is_tensor_like(1)
        False
    """
    return type(inp) is _core.Tensor or hasattr(inp, "__torch_function__")


class TorchFunctionMode:
    """Sees the calls inside a ``with`` block; a base class.

    The method ``__torch_function__(self, func, types, args=(), kwargs=None)`` is called instead
    of a function. What it calls itself is shown to the mode around it, if there is one.

    Example:
        >>> import flambeau
        >>> from flambeau.overrides import TorchFunctionMode
        >>> class Names(TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     x = flambeau.ones(2) + 1
        ones
        add
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __torch_function__: define what "
                                  "the mode does with a call")

    def __enter__(self) -> Any:
        _core.push_override_mode(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        _core.pop_override_mode()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that lets all calls run as they are."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    return (_core.override_modes() or [None])[-1]


def _get_current_function_mode_stack() -> list[Any]:
    modes: list[Any] = _core.override_modes()
    return modes


enable_reentrant_dispatch = _core.EnableTorchFunction
_enable_torch_function = _core.EnableTorchFunction


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Run a call that a class or mode was shown; only the calls inside it are shown again.

    Args:
        func: What was called.
        types: The classes that were asked.
        args: Its arguments.
        kwargs: Its keywords.
    """
    return _core.unshown(func, args, kwargs)


# ---- what there is ------------------------------------------------------------------------------
@once
def _catalogue() -> Any:
    from flambeau.core.compat import overridable

    return overridable.catalogue()


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions, methods and properties of which calls are shown, by namespace.

    Returns:
        Lists by module, and by class for the methods; ``__get__`` of properties.
    """
    return {space: list(functions) for space, functions in _catalogue().functions.items()}


def get_ignored_functions() -> set[Any]:
    """Public functions of which calls are shown to modes at most."""
    return set(_catalogue().ignored)


def get_testing_overrides() -> dict[Any, Any]:
    """For each function of which calls are shown one with its parameters that returns -1."""
    return dict(_catalogue().testing())


def get_default_nowrap_functions() -> set[Any]:
    """What gives plain tensors for tensors of a subclass: ``x.grad`` and ``x._base``."""
    _core.start_overriding()
    return set(_core._kept_types)


def resolve_name(f: Any) -> str | None:
    """The name by which a shown function is reached: ``flambeau.add``; None for others.

    Args:
        f: What ``__torch_function__`` was given.

    Example:
        >>> import flambeau
        >>> flambeau.overrides.resolve_name(flambeau.Tensor.shape.__get__)
        'flambeau.Tensor.shape.__get__'
    """
    name: str | None = _catalogue().names.get(f)
    return name


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a shown function is a method of tensors, or ``__get__`` of a property.

    Args:
        func: What ``__torch_function__`` was given.
    """
    return func in _catalogue().methods or getattr(func, "__name__", "") == "__get__"
