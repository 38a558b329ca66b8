"""Modules as data: tensors, attributes, and names of classes that must have kept their sources."""
from __future__ import annotations

import hashlib
import inspect
import io
import sys
import types
import uuid
import weakref
from collections.abc import Callable
from typing import Any

from flambeau import rooms
from flambeau.as_torch.stands.scripts.loaded import LoadedModule
from flambeau.as_torch.stands.scripts.objects import ScriptFunction, ScriptModule
from flambeau.as_torch.stands.scripts.tracing import Traced, TracedFunction, TracedModule
from flambeau.core import io as files
from flambeau.core.homes import own_module

_nn = rooms.import_module(f"{rooms.PREFIX}nn")
_objects = rooms.import_module(f"{rooms.PREFIX}jit.scripted.objects")

#: What this process has written, which it finds again whatever its name, by a number of its own.
_known: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_numbers: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_LEFT_OUT = ("_script_example",)


class Unreadable(Exception):
    """A class is not here, or is another one than the file means."""


def written(script: Any) -> tuple[bytes | None, str]:
    """A scripted or traced object as bytes, or why it cannot be one.

    Args:
        script: The object.
    """
    parts: list[Any] = []
    try:
        if isinstance(script, ScriptFunction):
            content: dict[str, Any] = {"function": _reference(_inside(script)),
                                       "traced": isinstance(script, TracedFunction)}
        else:
            content = {"module": _add(script, parts, {}), "parts": parts}
        buffer = io.BytesIO()
        files.save(content, buffer, format="torch")
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:
        return None, str(error)
    return buffer.getvalue(), ""


def read(content: bytes, map_location: Any) -> tuple[Any, str]:
    """The object again, or why it cannot be had.

    Args:
        content: What `written` gave.
        map_location: The device of its tensors.
    """
    try:
        data = files.load(io.BytesIO(content), map_location)
        if "function" in data:
            function = _found(data["function"])
            return (TracedFunction(Traced(function)) if data["traced"]
                    else ScriptFunction(function)), ""
        return _made(data["module"], data["parts"], {}), ""
    except (Unreadable, files.FileError) as error:
        return None, str(error)


def _inside(function: Any) -> Any:
    """The function that a scripted one calls."""
    found = function._fn
    if isinstance(found, Traced | _objects.Scripted) or not inspect.isfunction(found):
        raise TypeError(f"{type(found).__name__} is no function that a file can name")
    return found


def _add(module: Any, parts: list[Any], known: dict[int, int]) -> int:
    """Note a module and its submodules; give its index in the list."""
    if id(module) in known:
        return known[id(module)]
    if isinstance(module, LoadedModule):
        raise TypeError("a module that was loaded as a program has no class that a file can name")
    index = known[id(module)] = len(parts)
    parts.append(None)
    if isinstance(module, TracedModule):
        parts[index] = {"traced": _add(module._runs[0], parts, known),
                        "methods": list(module._methods), "training": module.training}
        return index
    kind = module._scripted_kind if isinstance(module, ScriptModule) else None
    below = module._modules
    state = {name: value for name, value in vars(module).items() if name not in _LEFT_OUT
             and (value is None or value is not below.get(name))}
    defined = {name: value.__func__ for name, value in state.items()
               if isinstance(value, types.MethodType) and value.__self__ is module}
    state = {name: value for name, value in state.items() if name not in defined}
    state["_modules"] = {name: None if part is None else _add(part, parts, known)
                         for name, part in below.items()}
    parts[index] = {"class": _reference(kind or type(module)), "script": kind is not None,
                    "state": state, "defined": {name: _reference(function)
                                                for name, function in defined.items()}}
    return index


def _made(index: int, parts: list[Any], known: dict[int, Any]) -> Any:
    if index in known:
        return known[index]
    part = parts[index]
    if "traced" in part:
        runs = _made(part["traced"], parts, known)
        methods = {name: Traced(runs if name == "forward" else getattr(runs, name))
                   for name in part["methods"]}
        made = known[index] = TracedModule(runs, methods)
        return made.train(part["training"])
    kind = _found(part["class"])
    if not isinstance(kind, type) or not issubclass(kind, _nn.Module):
        raise Unreadable(f"{kind!r} is no class of modules")
    if part["script"]:
        kind = _objects.class_of(kind, ScriptModule)
    made = known[index] = object.__new__(kind)
    vars(made).update(part["state"])
    below = {name: None if number is None else _made(number, parts, known)
             for name, number in part["state"]["_modules"].items()}
    vars(made).update(below, _modules=below)
    for name, reference in part["defined"].items():
        vars(made)[name] = _found(reference).__get__(made)
    return made


def _reference(thing: Any) -> dict[str, Any]:
    """How a file names a class or a function."""
    number = _numbers.setdefault(thing, uuid.uuid4().hex)
    _known[number] = thing
    return {"module": own_module(thing), "name": thing.__qualname__, "number": number,
            "source": _digest(thing)}


def _digest(thing: Any) -> str | None:
    """What tells one source from another; this library's own may change."""
    if own_module(thing).startswith(rooms.PREFIX):
        return None
    try:
        return hashlib.sha256(inspect.getsource(thing).encode()).hexdigest()
    except (OSError, TypeError):
        return None


def _found(reference: dict[str, Any]) -> Any:
    """The class or function of a name, if it has the source that it had."""
    if reference["number"] in _known:
        return _known[reference["number"]]
    module, name = reference["module"], reference["name"]
    shown = f"{module}.{name}"
    if module.partition(".")[0] in sys.stdlib_module_names and module != "__main__":
        raise Unreadable(f"{shown} is of the standard library, with which a file could do harm")
    if module not in sys.modules:
        raise Unreadable(f"{shown} is not here: import {module} first, which a file does not do")
    try:
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise Unreadable(f"{shown} cannot be found here") from None
    if isinstance(found, _objects.ScriptFunction):
        found = found._fn
    is_kind: Callable[[Any], bool] = inspect.isfunction if not isinstance(found, type) else (
        lambda kind: issubclass(kind, _nn.Module))
    if not is_kind(found) or _digest(found) != reference["source"]:
        raise Unreadable(f"{shown} is not what it was when the file was written")
    return found
