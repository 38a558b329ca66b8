"""Functions that a mode decorates: ``@no_grad()``, ``@autocast("cpu")`` and the like."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from . import trust
from .trust import CYTHON


def _undecorated() -> None:
    pass


@cache
def _code_by_mode() -> Any:
    """The code that all functions share which a gradient mode decorates."""
    from flambeau.autograd import no_grad

    return no_grad()(_undecorated).__code__


@cache
def _code_by_autocast() -> Any:
    from flambeau.autograd import autocast

    return autocast("cpu")(_undecorated).__code__


def is_decorated(fn: Any) -> bool:
    """Whether a function runs another one in a mode of Flambeau's, and does nothing else."""
    if "flambeau.autograd" not in sys.modules:
        return False
    if type(fn) is CYTHON:
        return fn.__code__ is _code_by_mode() and trust.is_mode(_held_by(fn)[0])
    return type(fn) is FunctionType and fn.__code__ is _code_by_autocast()


def call(calls: Any, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``fn(...)``, where the function inside is followed."""
    again, function = _of_mode(fn) if type(fn) is CYTHON else _of_autocast(calls, fn)
    with again():
        return calls.call(calls.reads.read(function), args, kwargs)


def _held_by(fn: Any) -> tuple[Any, Any]:
    """The mode and the function: such functions do not show what they hold, nor change it."""
    mode_class = sys.modules["flambeau.autograd"].no_grad.__base__
    scope = next(each for each in gc.get_referents(fn) if type(each).__name__.endswith("decorated"))
    held = gc.get_referents(scope)
    mode = next(each for each in held if isinstance(each, mode_class))
    return mode, next((each for each in held if each is not mode), None)


def _of_mode(fn: Any) -> tuple[Callable[[], Any], Any]:
    mode, function = _held_by(fn)
    return mode.copy, function


def _of_autocast(calls: Any, fn: Any) -> tuple[Callable[[], Any], Any]:
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__, strict=True))
    return calls.reads.cell(cells["self"])._again, calls.reads.cell(cells["function"])
