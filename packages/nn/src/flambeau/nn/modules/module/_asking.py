"""Members of classes with a `__getattr__` of their own.

Note [members that are asked for]: in PyTorch a member is no plain attribute, so a class that
defines `__getattr__` sees each read of one, and passes it on with ``super().__getattr__(name)``. A
class that does so gets `Asking` as a base, which restores that; others read members at once, and
so does one that says ``_members_at_once``. `Module` itself has no `__getattr__`, with which each
read of an attribute would take longer.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ._attributes import Attributes
from ._hidden import Hidden
from ._members import PLACES


class Asking(Hidden, Attributes):
    """Reads members through `__getattr__`."""

    def __getattribute__(self, name: str) -> Any:
        state = object.__getattribute__(self, "__dict__")
        if name in state and any(name in state.get(place, ()) for place in PLACES):
            return type(self).__getattr__(self, name)
        return object.__getattribute__(self, name)


def _calls_getattr(cls: type) -> bool:
    """Say whether a method of a class names `__getattr__`, of itself or of a base."""
    return any("__getattr__" in value.__code__.co_names for value in vars(cls).values()
               if isinstance(value, FunctionType))


def let_ask(cls: type) -> None:
    """Give a class the base `Asking` if it, or what it is made of, has to do with `__getattr__`."""
    if hasattr(cls, "_members_at_once") or issubclass(cls, Asking):
        return
    own = getattr(cls, "__getattr__", Hidden.__getattr__)
    if own is not Hidden.__getattr__ or _calls_getattr(cls):
        cls.__bases__ = (*cls.__bases__, Asking)
