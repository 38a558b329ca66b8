"""Functions from strings that hold TorchScript, which is Python with other names built in."""
from __future__ import annotations

import itertools
import linecache
import math
import sys
import textwrap
import typing
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from flambeau import rooms

#: What TorchScript knows without an import, beside Python's built-in names.
_TYPING = ("Any", "Dict", "Final", "List", "NamedTuple", "Optional", "Set", "Tuple", "Union")
_number = itertools.count()


def caller_names(frames_up: int) -> dict[str, Any]:
    """What is in scope where a function of this package was called.

    Args:
        frames_up: How many calls above the caller of this.
    """
    frame = sys._getframe(frames_up + 1)
    return {**frame.f_globals, **frame.f_locals}


def functions(source: str, around: Mapping[str, Any]) -> dict[str, FunctionType]:
    """The functions that a text defines.

    Args:
        source: The text.
        around: Other names that it may use.
    """
    torch = sys.modules["torch"]
    text = textwrap.dedent(source)
    file = f"<torch.jit source {next(_number)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    futures = rooms.import_module(f"{rooms.PREFIX}futures")
    names = {"math": math, **{name: getattr(typing, name) for name in _TYPING}, "torch": torch,
             "Tensor": torch.Tensor, "Future": futures.Future, **around}
    found: dict[str, Any] = {}
    names["__builtins__"] = __builtins__
    exec(compile(text, file, "exec"), names, found)     # a program gave its own source
    names.update(found)
    return {name: value for name, value in found.items() if isinstance(value, FunctionType)}


class CompilationUnit:
    """Functions that strings have the source of.

    Args:
        lang: Their source.
        _frames_up: How many calls up the names are that it uses.
    """

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        self._functions: dict[str, Any] = {}
        if lang is not None:
            self._add(lang, caller_names(1 + _frames_up))

    def define(self, lang: str, rcb: Any = None, _frames_up: int = 0) -> None:
        """Add functions.

        Args:
            lang: Their source.
            rcb: Accepted for compatibility.
            _frames_up: How many calls up the names are that it uses.
        """
        self._add(lang, caller_names(1 + _frames_up))

    def _add(self, lang: str, around: Mapping[str, Any]) -> None:
        from flambeau.as_torch.stands.scripts.objects import script

        for name, function in functions(lang, around).items():
            if name in self._functions:
                raise RuntimeError(f"the unit has a function {name}() already")
            self._functions[name] = script(function)

    def find_function(self, name: str) -> Any:
        """A function by its name, or None.

        Args:
            name: The name.
        """
        return self._functions.get(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._functions:
            raise AttributeError(f"the unit has no function {name!r}")
        return self._functions[name]
