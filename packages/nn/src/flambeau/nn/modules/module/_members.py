"""The three dicts of a module: its parameters, buffers and submodules by name.

Note [members are attributes, too]: each dict is a real one, which programs read, change, copy and
replace; what it holds also lies in the instance ``__dict__`` under its own name, so that reading
``self.weight`` is a plain attribute access, without ``__getattr__``. Whoever changes a dict
changes the attribute with it. As in PyTorch a plain attribute of the same name hides the member,
and a parameter hides a buffer, which hides a submodule. The dicts know their module weakly: a
cycle would keep its memory until Python looks for cycles.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

#: Where the members of a module lie, in the order in which one hides another.
KINDS = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}
PLACES = tuple(KINDS)
_ABSENT = object()


class Members(dict[str, Any]):
    """A module's members of one kind by name; a change shows in the module's attributes.

    One that is made as dicts are, by programs that call ``type(mapping)(...)``, is of no module.
    """

    __slots__ = ("_owner",)
    _counts_as = dict       # in trees of tensors

    _owner: Callable[[], Any]

    def owner(self) -> Any:
        """The module that these are the members of; None where it is gone, or there is none."""
        return self._owner() if hasattr(self, "_owner") else None

    def is_of(self, module: Any) -> bool:
        """Whether these are the members of a module, rather than of one it was copied from."""
        return self.owner() is module

    def __setitem__(self, name: str, value: Any) -> None:
        before = dict.get(self, name, _ABSENT)
        super().__setitem__(name, value)
        self._show(name, before)

    def __delitem__(self, name: str) -> None:
        before = self[name]
        super().__delitem__(name)
        self._show(name, before)

    def pop(self, name: str, *default: Any) -> Any:
        """Take a member out and return it."""
        is_there = name in self
        before = super().pop(name, *default)
        if is_there:
            self._show(name, before)
        return before

    def popitem(self) -> tuple[str, Any]:
        """Take the last member out and return it with its name."""
        name, before = super().popitem()
        self._show(name, before)
        return name, before

    def clear(self) -> None:
        """Take all members out."""
        for name in list(self):
            del self[name]

    def update(self, *given: Any, **named: Any) -> None:
        """Set the members of a mapping, or of pairs."""
        for name, value in dict(*given, **named).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        """The member of a name, which is set where there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def __ior__(self, given: Any) -> Members:  # type: ignore[override,misc]
        self.update(given)
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Copies and pickles are plain dicts: they are of no module."""
        return dict, (dict(self),)

    def show(self) -> None:
        """Let all members be attributes that nothing hides."""
        for name in self:
            self._show(name, _ABSENT)

    def _show(self, name: str, before: Any) -> None:
        """Let the attribute of a name be the member, unless something else hides it."""
        module = self.owner()
        if module is not None:
            own = module.__dict__
            shown = own.get(name, _ABSENT)
            if shown is _ABSENT or shown is before or _holds(own, name, shown):
                _show_member(own, name)


def _holds(own: dict[str, Any], name: str, value: Any) -> bool:
    return any(own[place].get(name, _ABSENT) is value for place in PLACES if place in own)


def members_of(module: Any, place: str) -> Members:
    """The members in one of the places; those of a module that was copied are copied.

    Args:
        module: The module.
        place: ``_parameters``, ``_buffers`` or ``_modules``.

    Raises:
        AttributeError: The module's constructor has not run.
    """
    held = module.__dict__.get(place)
    if type(held) is Members and held.is_of(module):
        return held
    if held is None:
        own = type(module).__name__
        raise AttributeError(
            f"{own}.__init__ assigns a {KINDS[place]} before Module.__init__() has run: "
            f"call super().__init__() first in {own}.__init__"
        )
    return hold(module, place, held)


def hold(module: Any, place: str, given: Mapping[str, Any]) -> Members:
    """Take a dict for one of the places, whose members lie in the ``__dict__`` already.

    Args:
        module: The module.
        place: The place.
        given: The dict.
    """
    members = module.__dict__[place] = Members(given)
    members._owner = weakref.ref(module)
    return members


def start(module: Any) -> None:
    """Give a module without members its dicts."""
    owner, own = weakref.ref(module), module.__dict__
    for place in PLACES:
        members = own[place] = Members()
        members._owner = owner


def without_attributes(state: dict[str, Any]) -> dict[str, Any]:
    """What a copy or a file has of a module's ``__dict__``: each member once.

    Args:
        state: The ``__dict__``, or a copy of it.
    """
    held = [state[place] for place in PLACES if place in state]
    return {name: dict(value) if name in PLACES else value for name, value in state.items()
            if not any(each.get(name, _ABSENT) is value for each in held)}


def _show_member(own: dict[str, Any], name: str) -> None:
    """Set an attribute to the member of its name, or delete it."""
    for place in PLACES:
        if name in own.get(place, ()):
            own[name] = own[place][name]
            return
    own.pop(name, None)
