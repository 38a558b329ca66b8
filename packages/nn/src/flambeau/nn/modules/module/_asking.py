"""Members of classes with a `__getattr__` of their own.

Note [members that are asked for]: in PyTorch a member is no plain attribute, so a class that
defines `__getattr__` sees each read of one, and passes it on with ``super().__getattr__(name)``. A
class that does so gets `Asking` as a base, which restores both; others read members at once, and
so does one that says ``_members_at_once``.
"""

from __future__ import annotations

import weakref
from typing import Any

from ._attributes import Attributes, Members

PLACES = {"_parameters": "_parameter_names", "_buffers": "_buffer_names",
           "_modules": "_module_names"}


class OwnMembers(Members):
    """A view of a module's members that lies in its own ``__dict__``, without a cycle."""

    __slots__ = ("_module",)

    def __init__(self, names: dict[str, bool], module: Any) -> None:
        self._names = names
        self._module = weakref.ref(module)

    @property
    def _values(self) -> Any:   # type: ignore[override]
        return self._module().__dict__

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied along with the ``__dict__``, by classes whose ``__getstate__`` returns it."""
        return Members, (self._names, self._values)


class Asking(Attributes):
    """Reads members through `__getattr__`, and has views of them in ``__dict__``."""

    def __getattribute__(self, name: str) -> Any:
        state = object.__getattribute__(self, "__dict__")
        if name == "__dict__":
            if "_modules" not in state and "_module_names" in state:
                for place, names in PLACES.items():
                    state[place] = OwnMembers(state[names], self)
        elif name in state and any(name in state.get(names, ()) for names in PLACES.values()):
            return type(self).__getattr__(self, name)
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        state = object.__getattribute__(self, "__dict__")
        if any(name in state.get(names, ()) for names in PLACES.values()):
            return state[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}",
                             name=name, obj=self)


def _calls_getattr(cls: type) -> bool:
    """Say whether a method of a class names `__getattr__`, of itself or of a base."""
    codes = (getattr(value, "__code__", None) for value in vars(cls).values())
    return any(code is not None and "__getattr__" in code.co_names for code in codes)


def let_ask(cls: type) -> None:
    """Give a class the base `Asking` if it, or what it is made of, has to do with `__getattr__`."""
    if hasattr(cls, "_members_at_once") or issubclass(cls, Asking):
        return
    if hasattr(cls, "__getattr__") or _calls_getattr(cls):
        cls.__bases__ = (*cls.__bases__, Asking)
