"""Objects as data: a class by name, what its ``__new__`` takes, and its state.

This is what ``copy`` and ``pickle`` ask of an object (``__reduce_ex__``), as far as it can be
followed without executing anything: objects that are made by functions of their own are refused.
"""
from __future__ import annotations

import copyreg
import sys
from enum import Enum
from functools import partial
from types import FunctionType
from typing import Any, NoReturn

from flambeau.core import _core
from flambeau.core.io.errors import fail
from flambeau.core.io.permission import full_name

_SCALARS = (str, int, float, bytes, type(None), Enum)


def _refuse(obj: Any, path: str, why: str) -> NoReturn:
    raise TypeError(f"save(): cannot store {type(obj).__name__} at {path or 'the top'}: {why}; "
                    "files hold tensors, arrays, numbers, strings, None, containers, and objects "
                    "of classes that can be imported by name")


def join(path: str, part: Any) -> str:
    """Where a part lies in what is saved, as errors and tensors' names say it."""
    return f"{path}.{part}" if path else str(part)


def is_enumeration(obj: Any) -> bool:
    """Whether a value is a member of an enumeration, which may be a number as well."""
    return isinstance(obj, Enum)


# ---- arrays of NumPy -----------------------------------------------------------


def loaded_numpy() -> Any:
    """NumPy, if the program has imported it: else there is no object of it either."""
    return sys.modules.get("numpy")


def is_array(obj: Any) -> bool:
    """Whether ``obj`` is an array of NumPy."""
    numpy = loaded_numpy()
    return numpy is not None and type(obj) is numpy.ndarray


def array_tensor(array: Any, path: str) -> Any:
    """The elements of an array as a tensor."""
    try:
        return _core.from_numpy(array.copy())
    except (TypeError, ValueError, RuntimeError) as error:
        _refuse(array, path, f"its elements are {array.dtype} ({error})")


def array_of(x: Any) -> Any:
    """The array of a tensor that ``array_tensor`` gave."""
    if not isinstance(x, _core.Tensor):
        fail("an array of the structure description is damaged")
    return x.numpy()


# ---- classes, functions, objects -------------------------------------------------


def name_of(obj: Any) -> str | None:
    """The name of a class, function or operator; None for other objects."""
    if not isinstance(obj, (type, FunctionType, _core.Operator)):
        return None
    name = full_name(obj)
    if "<" in name:
        raise TypeError(f"save(): {name} is defined inside a function or is a lambda, so that no "
                        "file can name it; define it at the top of a module")
    return name


def parts_of(obj: Any, path: str) -> dict[str, Any]:
    """What makes an object: class, arguments, state, and the items of a list or dict."""
    if type(obj) is object:
        _refuse(obj, path, "it has neither a class of its own nor a state")
    try:
        reduced = obj.__reduce_ex__(2)
    except TypeError as error:
        _refuse(obj, path, str(error))
    if not isinstance(reduced, tuple):
        _refuse(obj, path, "it is pickled by name")
    function, args, state, lists, items = (*reduced, None, None, None)[:5]
    parts = {"state": state, "list": list(lists or ()) or None, "items": list(items or ())}
    if function is copyreg.__newobj__:  # type: ignore[attr-defined]  # not in the types
        return {"class": args[0], "args": args[1:] or None, **parts}
    if isinstance(function, type):
        return {"class": function, "args": args or None, "call": True, **parts}
    _refuse(obj, path, f"it is made by a call of {getattr(function, '__name__', function)}")


def set_state(obj: Any, state: Any) -> None:
    """Give an object its state, by its class's ``__setstate__`` or as attributes."""
    if isinstance(obj, partial) and (not isinstance(state, tuple) or state[0] is not obj.func):
        fail("a partial of the file has another function than it was made of")
    setter = getattr(obj, "__setstate__", None)
    if setter is not None:
        setter(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for name, value in (slots or {}).items():
        object.__setattr__(obj, name, value)
    if attributes:
        obj.__dict__.update(attributes)


def extend(obj: Any, values: Any, items: Any) -> None:
    """Give an object that is a list or a dict its items."""
    for value in values:
        obj.append(value)
    for key, value in items:
        obj[member(key)] = value


def member(key: Any) -> Any:
    """A key of a dict or member of a set: nothing whose hash is a program or could take long."""
    parts = key if type(key) is tuple else (key,)
    if all(isinstance(part, _SCALARS) or part.__hash__ is object.__hash__ or _is_only_itself(part)
           for part in parts):
        return key
    fail(f"a dict key or member of a set of type {type(key).__name__}; files have strings, "
         "numbers, members of enumerations and tuples of them")


def _is_only_itself(part: Any) -> bool:
    """Whether an object is equal to nothing else, as those of classes that do not say otherwise."""
    kind = type(part)
    return kind.__hash__ is object.__hash__ and kind.__eq__ is object.__eq__
