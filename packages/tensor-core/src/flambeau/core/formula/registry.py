"""Where the prelude's functions are written down: name and domain to a function over nodes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

Definition = Callable[..., Any]
F = TypeVar("F", bound=Definition)

DOMAINS = ("f32", "f64", "float", "int", "any", "complex")


class FormulaError(ValueError):
    """A formula that cannot be read or typed; the message shows the position."""


_definitions: dict[tuple[str, str], Definition] = {}
_arity: dict[str, int] = {}


def define(name: str, *domains: str) -> Callable[[F], F]:
    """Register the decorated function as ``name`` for the given domains.

    A definition gets one expression per argument and gives the expression of the result; for
    the domain ``complex`` it gets and gives ``Pair`` objects. ``float`` serves both precisions,
    ``any`` integers and bools as well. A keyword parameter ``dtype`` is told the precision.
    """

    def register(function: F) -> F:
        arity = _code(function).co_argcount
        if _arity.setdefault(name, arity) != arity:
            raise ValueError(f"{name} takes {_arity[name]} arguments elsewhere, {arity} here")
        for domain in domains:
            if domain not in DOMAINS or (name, domain) in _definitions:
                raise ValueError(f"cannot define {name} for {domain}")
            _definitions[name, domain] = function
        return function

    return register


def _code(function: Any) -> CodeType:
    """What the function is made of; ``inspect.signature`` would take most of the import's time."""
    code: CodeType = function.__code__
    return code


def find(name: str, dtype: str) -> Definition | None:
    """The definition of ``name`` that serves arguments of type ``dtype``, if there is one."""
    kind = {"f32": "float", "f64": "float", "i32": "int", "i64": "int"}.get(dtype, dtype)
    for domain in (dtype, kind, "any"):
        function = _definitions.get((name, domain))
        if function is not None:
            takes_type = _code(function).co_kwonlyargcount       # it can only be ``dtype``
            return functools.partial(function, dtype=dtype) if takes_type else function
    return None


def arities() -> dict[str, int]:
    """Number of arguments of every prelude function."""
    return dict(_arity)
