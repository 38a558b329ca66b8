"""Members under the name of a property of their class.

In PyTorch a property comes before a member, and where it raises AttributeError, Python asks
`__getattr__`, which gives the member. `Module` has no `__getattr__`; a class with such a property
gets one as a base.
"""

from __future__ import annotations

from typing import Any

from ._members import PLACES


class Hidden:
    """Reads members that nothing else of the name gives."""

    def __getattr__(self, name: str) -> Any:
        own = object.__getattribute__(self, "__dict__")
        for place in PLACES:
            if name in own.get(place, ()):
                return own[place][name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}",
                             name=name, obj=self)


def let_hide(cls: type) -> None:
    """Give a class the base `Hidden`, if it has it not."""
    if not issubclass(cls, Hidden):
        cls.__bases__ = (*cls.__bases__, Hidden)
