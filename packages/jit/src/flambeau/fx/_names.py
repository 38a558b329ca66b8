"""Names: of functions and types as generated code writes them, and of values, each once."""

from __future__ import annotations

import builtins
import contextlib
import keyword
import operator
import re
import sys
import types
import typing
from typing import Any

import flambeau
from flambeau.core import Operator
from flambeau.core.compat.asserting import _assert
from flambeau.core.homes import own_module

#: Where public functions are looked for, in this order.
_SPACES = ("", "nn.functional", "linalg", "fft", "special", "nn.init")
#: Functions that are in two of them, and are written as those of the second.
_FUNCTIONAL = frozenset((
    "max_pool1d", "max_pool2d", "max_pool3d", "layer_norm", "group_norm", "fold", "unfold",
    "glu", "tanhshrink", "normalize", "adaptive_max_pool2d", "adaptive_max_pool3d", "rms_norm"))
_RESERVED = frozenset(keyword.kwlist) | frozenset(vars(builtins))


def library() -> str:
    """The name that code writes for this library: ``torch`` where a program asked for that."""
    return "torch" if sys.modules.get("torch") is flambeau else "flambeau"


def in_library(name: str) -> str:
    """A dotted name of this library, with the library's name in front."""
    return f"{library()}.{name}" if name else library()


def _space(name: str) -> Any:
    return sys.modules.get(f"flambeau.{name}".rstrip("."))


def public_name(thing: Any) -> str | None:
    """Where a function or type of this library is found, without the library's name; or None."""
    name = getattr(thing, "__name__", None)
    if own_module(type(thing)) == "flambeau.library.operators":
        return f"ops.{thing}"
    if not isinstance(name, str) or not name.isidentifier():
        return None
    if thing is _assert:
        return "_assert" if library() == "torch" else None
    if not isinstance(thing, Operator) and not _is_own(thing):
        return None
    if name in _FUNCTIONAL and getattr(_space("nn.functional"), name, None) is thing:
        return f"nn.functional.{name}"
    for space in _SPACES:
        module = _space(space)
        if module is not None and vars(module).get(name) is thing:
            return f"{space}.{name}".lstrip(".")
    if isinstance(thing, Operator):
        for space in _SPACES:
            module = _space(space)
            if module is not None and getattr(module, name, None) is thing:
                return f"{space}.{name}".lstrip(".")
        return f"Tensor.{name}" if getattr(flambeau.Tensor, name, None) is thing else None
    if isinstance(thing, type) and own_module(thing).startswith("flambeau.nn."):
        nn = _space("nn")
        return f"nn.{name}" if nn is not None and getattr(nn, name, None) is thing else None
    return None


def _is_own(thing: Any) -> bool:
    return own_module(thing).startswith("flambeau")


def is_from_library(thing: Any) -> bool:
    """Whether code can write a thing as an attribute of the library."""
    return public_name(thing) is not None


def qualified_name(function: Any) -> str:
    """The dotted name of a function, as code imports it.

    Raises:
        RuntimeError: a function defined inside another one has none.
    """
    if isinstance(function, types.FunctionType | types.BuiltinFunctionType | type):
        name = function.__name__
        if getattr(builtins, name, None) is function:
            return name
    public = public_name(function)
    if public is not None:
        return in_library(public)
    if isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType):
        return f"{qualified_name(function.__objclass__)}.{function.__name__}"
    name = getattr(function, "__name__", type(function).__name__)
    if name == "<lambda>":
        raise RuntimeError(f"a lambda has no name that generated code could write: {function}; "
                           "give the function a def")
    module = _module_of(function, name)
    if module == "flambeau" or module.startswith("flambeau."):
        module = in_library(module.removeprefix("flambeau").lstrip("."))
    return f"{module}.{name}" if module else name


def _module_of(function: Any, name: str) -> str:
    module = getattr(function, "__module__", None)
    if module is None:
        owner = getattr(function, "__objclass__", None) or getattr(function, "__self__", None)
        module = getattr(owner, "__module__", "") or getattr(type(function), "__module__", "")
    if module == "_operator":
        return "operator" if hasattr(operator, name) else "_operator"
    return module or ""


def type_name(kind: Any) -> str:
    """How an annotation is written."""
    if isinstance(kind, str):
        return kind
    if kind is Ellipsis:
        return "..."
    if kind is type(None):
        return "NoneType"
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        if kind.__module__ == "builtins":
            return kind.__qualname__
        public = public_name(kind)
        return in_library(public) if public else f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(kind, types.FunctionType):
        return kind.__name__
    origin = getattr(kind, "__origin__", None)
    if isinstance(kind, types.GenericAlias) or getattr(kind, "__module__", "") == "typing":
        inner = ", ".join(type_name(each) for each in typing.get_args(kind))
        base = _origin_name(kind, origin)
        return f"{base}[{inner}]" if inner else base
    return repr(kind)


def _origin_name(kind: Any, origin: Any) -> str:
    if isinstance(kind, types.GenericAlias):
        return type_name(origin)
    name = getattr(kind, "_name", None) or getattr(origin, "_name", None)
    return f"typing.{name}" if name else repr(kind).split("[")[0]


def snake_case(name: str) -> str:
    """``pascalCase`` as ``pascal_case``; letters after capitals are left."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def dotted(base: str, target: str) -> str:
    """The expression that reads a dotted path below an object, whatever its parts are called."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class Namespace:
    """Gives each object a name of its own, none of them a keyword's or a builtin's."""

    def __init__(self) -> None:
        self._name_of: dict[Any, str] = {}
        self._used: set[str] = set()
        self._last: dict[str, int] = {}

    def create_name(self, candidate: str, thing: Any) -> str:
        """A new name that resembles a candidate; the same one for the same thing.

        Args:
            candidate: Anything; letters that names cannot have become ``_``.
            thing: What is named; None for what is named once.
        """
        if thing is not None and thing in self._name_of:
            return self._name_of[thing]
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        found = re.match(r"(.*?)_(\d+)$", candidate)
        base, number = (found[1], int(found[2])) if found and found[1] else (candidate, None)
        if number is None or candidate in self._used:
            number = self._last.get(base, 0)
            if self._taken(candidate, thing):
                number += 1
                candidate = f"{base}_{number}"
        while candidate in self._used:
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._last[base] = number
        if thing is not None:
            self._name_of[thing] = candidate
        return candidate

    def reserve(self, name: str, thing: Any) -> None:
        """Keep a name for a thing that may have several."""
        self._used.add(name)
        with contextlib.suppress(TypeError):
            self._name_of.setdefault(thing, name)

    @staticmethod
    def _taken(candidate: str, thing: Any) -> bool:
        """Whether a name means something else to Python, or in generated code."""
        if candidate in GLOBALS:
            return GLOBALS[candidate][1] is not thing
        return candidate in _RESERVED and getattr(builtins, candidate, GLOBALS) is not thing

    def associate_name_with_obj(self, name: str, thing: Any) -> None:
        """Note the name of a thing that has one."""
        self._name_of.setdefault(thing, name)


def _globals() -> dict[str, tuple[str, Any]]:
    from math import inf, nan

    return {"inf": ("from math import inf", inf), "nan": ("from math import nan", nan),
            "NoneType": ("NoneType = type(None)", type(None)),
            "torch": ("import torch", flambeau), "flambeau": ("import flambeau", flambeau),
            "device": ("from flambeau import device", flambeau.device)}


#: What every piece of generated code can name: name -> how to import it, the object.
GLOBALS = _globals()


def register_global(name: str, statement: str, thing: Any) -> None:
    """Let generated code use one more name."""
    GLOBALS[name] = (statement, thing)
