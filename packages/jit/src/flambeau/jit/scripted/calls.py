"""Converted functions and modules, for as long as they are recorded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from flambeau.jit.locations import is_ours

_converted: WeakKeyDictionary[Any, FunctionType] = WeakKeyDictionary()
#: Why functions are not converted.
_refused: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def call(fn: Any) -> Callable[..., Any]:
    """What stands for a callable in converted code: itself, or the same converted."""
    if isinstance(fn, FunctionType):
        return function(fn)
    if isinstance(fn, MethodType) and isinstance(fn.__func__, FunctionType):
        return MethodType(function(fn.__func__), fn.__self__)
    if hasattr(fn, "_parameters") and hasattr(fn, "forward"):
        return lambda *args, **kwargs: _called(fn, args, kwargs)
    return fn


def function(fn: FunctionType) -> FunctionType:
    """A user's function converted; others as they are."""
    found = _converted.get(fn)
    if found is None:
        found = _converted[fn] = _convert(fn)
    return found


def _convert(fn: FunctionType) -> FunctionType:
    from flambeau.jit.scripted.convert import converted
    from flambeau.jit.scripted.jumps import Unsupported

    if is_ours(fn.__code__.co_filename) or str(fn.__module__).partition(".")[0] in \
            sys.stdlib_module_names - {"__main__"}:
        return fn
    try:
        return converted(fn)
    except Unsupported as error:
        _refused[fn] = str(error)
        return fn


def why_not(fn: FunctionType) -> str:
    """Why a function keeps its own code; empty where it does not."""
    return _refused.get(fn, "")


def _called(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with modules(module):
        return module(*args, **kwargs)


@contextmanager
def modules(module: Any) -> Iterator[None]:
    """Have a module and all in it run their ``forward`` converted."""
    changed = []
    for each in module.modules():
        forward = type(each).forward
        if "forward" in vars(each) or not isinstance(forward, FunctionType):
            continue
        other = function(forward)
        if other is not forward:
            vars(each)["forward"] = MethodType(other, each)
            changed.append(each)
    try:
        yield
    finally:
        for each in changed:
            vars(each).pop("forward", None)
