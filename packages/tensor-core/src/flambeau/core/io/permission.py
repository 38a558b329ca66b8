"""Which classes and functions a file may name, and what may be done with them.

Containers, numbers, strings, tensors and arrays need no permission. Objects of other classes need
that of the program: ``add_safe_globals([Class])``, or ``weights_only=False`` for one ``load``.
Even then nothing in a file is executed: an object is made without its ``__init__`` and gets its
state; only what the program named itself is called, and enumerations and the few data classes of
the standard library below.
"""
from __future__ import annotations

import importlib
import pickle
import sys
from collections import Counter, OrderedDict, deque
from collections import defaultdict as _defaultdict
from enum import Enum
from functools import partial
from types import FunctionType
from typing import Any, NoReturn

from flambeau import rooms
from flambeau.core import _core
from flambeau.core.homes import own_module
from flambeau.core.io.errors import FileError, shown

_LIBRARY = rooms.PREFIX
_PYTORCH = "torch."

#: What the program permitted, by full name.
_granted: dict[str, object] = {}

#: Types that are data: found without permission.
_TYPES: dict[str, type] = {
    **{f"builtins.{kind.__name__}": kind for kind in (
        list, dict, set, frozenset, tuple, int, float, bool, str, complex, bytes, bytearray,
        object, slice)},
    **{f"collections.{kind.__name__}": kind for kind in (
        OrderedDict, Counter, deque, _defaultdict)},
}

#: Data classes of the standard library, by module: permitted with ``weights_only=False``.
_STANDARD = {
    "argparse": ("Namespace",), "types": ("SimpleNamespace",),
    "functools": ("partial",),
    "datetime": ("date", "time", "datetime", "timedelta", "timezone"),
    "decimal": ("Decimal",), "fractions": ("Fraction",), "uuid": ("UUID",),
    "pathlib": ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"),
}
#: Modules whose functions compute with what they are given.
_COMPUTING = (f"{_LIBRARY}nn.", f"{_LIBRARY}core.composites.")
#: Python's own modules under names of other systems and versions.
_HIDDEN = ("nt", "posix", "__builtin__", "copy_reg", "commands")
_NO_CALLS: tuple[type, ...] = (int, float, bool, str, object, bytes, bytearray, tuple)


class NotPermitted(FileError, pickle.UnpicklingError):
    """A file that asks for more than it may; programs of PyTorch's look for pickle's error."""


def fail(what: str) -> NoReturn:
    """Raise ``NotPermitted`` of ``load``."""
    raise NotPermitted(f"load(): {what}")


def full_name(thing: Any) -> str:
    """The name under which files know a class or a function."""
    if isinstance(thing, _core.Operator):
        return f"{_LIBRARY}{thing.__name__}"
    return f"{own_module(thing)}.{thing.__qualname__}"


def grant(things: list[Any]) -> None:
    """Permit classes and functions, each itself or as a pair with the name files give it."""
    for thing in things:
        found, name = thing if isinstance(thing, tuple) else (thing, None)
        if not callable(found) or not isinstance(name, str | None):
            raise TypeError("add_safe_globals(): takes classes and functions, or pairs of one and "
                            f"its name, not {type(found).__name__}")
        _granted[own_name(name or full_name(found))] = found


def granted() -> dict[str, object]:
    """What is permitted, by name."""
    return dict(_granted)


def is_permitted(name: str) -> bool:
    """Whether a file may have a name without further permission.

    Args:
        name: Of a class or function, which is not data that files are made of anyway.
    """
    own = own_name(name)
    return own in _granted or own in _TYPES


def restore(things: dict[str, object]) -> None:
    """Permit just what an earlier call of ``granted`` gave."""
    _granted.clear()
    _granted.update(things)


def own_name(name: str) -> str:
    """A name of PyTorch's as that of the same thing here."""
    if name.startswith("__builtin__."):
        return "builtins." + name.removeprefix("__builtin__.")
    return _LIBRARY + name.removeprefix(_PYTORCH) if name.startswith(_PYTORCH) else name


def _granted_elsewhere(name: str) -> Any:
    """A permitted class or function that a loaded module of this library has under a name."""
    module, _, last = name.rpartition(".")
    if not name.startswith(_LIBRARY):
        return None
    found = getattr(sys.modules.get(module), last, None)
    return next((thing for thing in _granted.values() if thing is found), None)


class Permission:
    """What one call of ``load`` may do.

    Args:
        everything: Whether any class that Python can import will do, as long as it is none of the
            standard library's.
        encoding: What texts of Python 2 are in; ``"bytes"`` leaves them as they are.
    """

    def __init__(self, everything: bool = False, encoding: str = "utf-8") -> None:
        self.everything = everything
        self.encoding = encoding

    def find(self, name: object) -> Any:
        """The class or function of a name."""
        if not isinstance(name, str):
            fail("the file has a name that is not a string; it is damaged")
        own = own_name(name)
        if own in _granted or own in _TYPES:
            return _granted.get(own) or _TYPES[own]
        granted = _granted_elsewhere(own)
        if granted is not None:
            return granted
        if not self.everything:
            _refuse(name)
        return _imported(own)

    def blank(self, cls: Any, args: Any) -> Any:
        """An object of a class, on which ``__init__`` was not called."""
        if not isinstance(cls, type) or issubclass(cls, type) or not isinstance(args, tuple):
            fail(f"the file wants an object of {shown(cls)}, which is no class; it is damaged")
        _check_bound(cls, *args)
        return cls.__new__(cls, *args)

    def call(self, thing: Any, args: Any) -> Any:
        """The result of a call, where the program permits it."""
        if not isinstance(args, tuple):
            fail("the file has a call without arguments; it is damaged")
        _check_bound(thing, *args)
        granted = any(thing is other for other in _granted.values())
        if not granted and isinstance(thing, type) and \
                any(isinstance(arg, _core.Tensor) for arg in args):
            fail(f"the file wants a {thing.__name__} of a tensor, which may have more elements "
                 "than memory; it is damaged")
        if not granted and isinstance(thing, type) and issubclass(thing, Enum) and \
                not all(isinstance(arg, str | int | float | bytes) for arg in args):
            fail(f"the file wants a member of {thing.__name__} that no scalar names")
        if granted or _is_data(thing):
            return thing(*args)
        fail(f"the file wants to call {shown(thing)}, which could do anything; if you trust it, "
             "write flambeau.serialization.add_safe_globals([...]) with it")


def _check_bound(thing: Any, function: Any = None, *more: Any) -> None:
    """Let a file bind arguments to what computes, not to functions that open files or run code."""
    if not isinstance(thing, type) or not issubclass(thing, partial):
        return
    known = isinstance(function, type | partial | _core.Operator) or \
        any(function is other for other in _granted.values()) or \
        isinstance(function, FunctionType) and own_module(function).startswith(_COMPUTING)
    if not known or more:
        fail(f"the file wants a partial of {shown(function)}, which is neither a class nor an "
             "operator, nor a function of nn; name it in "
             "flambeau.serialization.add_safe_globals([...]) if files may have it")


def _is_data(thing: Any) -> bool:
    if not isinstance(thing, type) or thing in _NO_CALLS:
        return False
    if issubclass(thing, Enum) or thing in _TYPES.values():
        return True
    return thing.__name__ in _STANDARD.get(thing.__module__, ())


def _imported(name: str) -> Any:
    """What Python finds under a name, if files may have it."""
    module, _, last = name.rpartition(".")
    if _is_standard_data(name):
        return getattr(importlib.import_module(module), last)
    _check_root(name, name)
    found = _looked_up(name.split("."), 1)
    if found is None and name.startswith(_LIBRARY):
        found = _looked_up([*_LIBRARY.strip(".").split("."), "nn", "functional", last], 2)
    if isinstance(found, _core.Operator):
        return found
    if isinstance(found, type):
        _check_root(own_module(found) + ".", name)
        return found
    if isinstance(found, FunctionType) and own_module(found).startswith(_LIBRARY):
        return found
    fail(f"the file asks for {name!r}, " + (
        "which cannot be imported here" if found is None else
        "which is neither a class nor a function of this library; name it in "
        "flambeau.serialization.add_safe_globals([...]) if files may have it"))


def _refuse(name: str) -> NoReturn:
    """Say how to permit a class, unless it is one that files have no business with."""
    last = name.rpartition(".")[2]
    permit = "" if _of_standard_library(name) and not _is_standard_data(name) else (
        " If you trust the file, write flambeau.serialization.add_safe_globals("
        f"[{last}]) before load(), or load(..., weights_only=False).")
    fail(f"the file asks for {name!r}, which is not data and was not permitted.{permit} A file "
         "that needs no permission holds tensors, numbers, strings and containers: "
         "save(model.state_dict(), path) makes one")


def _of_standard_library(name: str) -> bool:
    return name.partition(".")[0] in {*sys.stdlib_module_names, *_HIDDEN}


def _is_standard_data(name: str) -> bool:
    module, _, last = name.rpartition(".")
    return last in _STANDARD.get(module, ())


def _check_root(name: str, shown: str) -> None:
    if _of_standard_library(name):
        fail(f"the file asks for {shown!r} of the standard library, with which a file could do "
             "harm; name it in flambeau.serialization.add_safe_globals([...]) if it may")


def _looked_up(parts: list[str], shortest: int) -> Any:
    """The attribute of the longest prefix that is a module."""
    for length in range(len(parts) - 1, shortest - 1, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
            for part in parts[length:]:
                found = getattr(found, part)
        except (ImportError, AttributeError):
            continue
        return found
    return None
