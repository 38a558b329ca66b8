"""Modules and functions from the rows of ``table.py``."""
from __future__ import annotations
import __future__

import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from flambeau.core.compat.table import HOMES, Row

_HOMES = {home.name: home for home in HOMES}
#: Values of variables, by module.
_STATES: dict[str, dict[str, Any]] = {
    home.name: {row.name: row.result for row in home.rows if row.is_variable} for home in HOMES}
_told: set[str] = set()


def public_name(home: str, row: Row) -> str:
    """How programs write the name: ``flambeau.backends.mkl.verbose``."""
    return ".".join(("flambeau", home.removeprefix("core.compat.no_effect"), row.name)).replace(
        "..", ".")


def _tell(home: str, row: Row, value: Any, level: int) -> None:
    """Warn, once per process, of a call that has an effect in PyTorch."""
    name = public_name(home, row)
    if row.asks is not None and name not in _told and row.asks(value):
        _told.add(name)
        what = f"{name} = {value!r}" if row.is_variable else f"{name}()"
        warnings.warn(f"{what} has no effect here: {row.here}; {row.instead}", stacklevel=level)


class SettingsModule(ModuleType):
    """A module whose variables can be assigned to, and say when that changes nothing."""

    def __getattr__(self, name: str) -> Any:
        state = _STATES[self.__name__.partition(".")[2]]
        if name in state:
            return list(state[name]) if type(state[name]) is list else state[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name,
                             obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        home = self.__name__.partition(".")[2]
        if name not in _STATES[home]:
            return super().__setattr__(name, value)
        row, = (row for row in _HOMES[home].rows if row.name == name)
        _tell(home, row, value, 3)
        if row.apply is not None:
            row.apply(value)
        _STATES[home][name] = value


def functions(home: str) -> dict[str, Callable[..., Any]]:
    """The functions of a module, by name."""
    return {row.name: _function(home, row) for row in _HOMES[home].rows if not row.is_variable}


def fill(module: str) -> list[str]:
    """Give a module its functions and variables.

    Args:
        module: Its ``__name__``.

    Returns:
        The names of the functions.
    """
    home = module.removeprefix("flambeau.")
    made = functions(home)
    target = sys.modules[module]
    vars(target).update(made)
    if (target.__doc__ or "").startswith("See "):
        target.__doc__ = _HOMES[home].doc
    if _STATES[home]:
        target.__class__ = SettingsModule
    return sorted(made)


def _function(home: str, row: Row) -> Callable[..., Any]:
    """A function with the row's signature."""
    def run(given: dict[str, Any]) -> Any:
        _tell(home, row, given, 4)
        try:
            return row.result(_STATES[home], given) if callable(row.result) else row.result
        except (RuntimeError, ValueError) as error:
            raise type(error)(f"{row.name}(): {error}") from None

    scope: dict[str, Any] = {"run": run, "__name__": f"flambeau.{home}"}
    source = f"def {row.name}{row.signature}:\n    return run(locals())"
    exec(compile(source, f"<{scope['__name__']}>", "exec",
                 flags=__future__.annotations.compiler_flag), scope)
    made: Callable[..., Any] = scope[row.name]
    names = made.__code__.co_varnames
    arguments = "".join(f"    {name}: Accepted for compatibility.\n" for name in names)
    made.__doc__ = f"{row.here[0].upper()}{row.here[1:]}.\n" + f"\nArgs:\n{arguments}" * bool(names)
    return made
