"""Where hooks are kept: functions that watch or change what goes through a module.

A module without hooks holds ``None`` where its table of hooks would be, and the table of hooks of
all modules is empty: these are the two things that ``Module.__call__`` looks at.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NamedTuple

_ids = itertools.count()


def _free_number(hooks: dict[int, Any]) -> int:
    return next(number for number in _ids if number not in hooks)  # others were unpickled


class Hook(NamedTuple):
    """A registered function and how it is called."""

    kind: str
    function: Callable[..., Any]
    with_kwargs: bool = False
    always: bool = False


class HookTable(dict[int, Hook]):
    """Hooks by number, those of one kind in the order in which they are called."""

    def list(self, kind: str) -> list[Hook]:
        """The hooks of one kind; a copy, so that a hook may remove itself."""
        return [hook for hook in self.values() if hook.kind == kind]

    def add(self, hook: Hook, first: bool = False, owner: Any = None) -> RemovableHandle:
        """Register a hook behind the others, or before them."""
        number = _free_number(self)
        older = dict(self) if first else {}
        if first:
            self.clear()
        self[number] = hook
        self.update(older)
        return RemovableHandle(self, number, owner)


class HooksOfKind(MutableMapping[int, Callable[..., Any]]):
    """A live view of a module's hooks of some kinds: functions by number.

    What is put into it is of the first kind.
    """

    def __init__(self, module: Any, *kinds: str) -> None:
        self._module = module
        self._kinds = kinds

    def _table(self) -> HookTable:
        table: HookTable | None = self._module._hook_table
        return HookTable() if table is None else table

    def __getitem__(self, number: int) -> Callable[..., Any]:
        hook = self._table()[number]
        if hook.kind not in self._kinds:
            raise KeyError(number)
        return hook.function

    def __setitem__(self, number: int, function: Callable[..., Any]) -> None:
        if self._module._hook_table is None:
            self._module._hook_table = HookTable()
        self._module._hook_table[number] = Hook(self._kinds[0], function)

    def __delitem__(self, number: int) -> None:
        self[number]  # one of these kinds, or a KeyError
        del self._table()[number]
        if not self._table():
            self._module._hook_table = None

    def __iter__(self) -> Iterator[int]:
        return iter([i for i, hook in self._table().items() if hook.kind in self._kinds])

    def __len__(self) -> int:
        return sum(hook.kind in self._kinds for hook in self._table().values())

    def __repr__(self) -> str:
        return repr(dict(self))


class RemovableHandle:
    """What registering a hook returns; ``remove()`` takes the hook out again.

    Args:
        hooks_dict: The hooks by number; of a program's own, too, which then adds one under ``id``.
        number: The number of the hook, else one that is free.
        owner: The module that the hooks are of.
        extra_dict: A dict, or a list of dicts, that lose what they have under the number, too.

    Example:
        >>> from flambeau import nn
        >>> layer = nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: print("called"))
        >>> _ = layer(1)
        called
        >>> handle.remove()
        >>> _ = layer(1)
    """

    def __init__(self, hooks_dict: dict[int, Any], number: int | None = None, owner: Any = None,
                 *, extra_dict: Any = None) -> None:
        self._hook_table = hooks_dict
        self._owner = None if owner is None else weakref.ref(owner)
        self.id = _free_number(hooks_dict) if number is None else number
        self._kind = getattr(hooks_dict.get(self.id), "kind", "")
        self._extra = extra_dict if isinstance(extra_dict, list) else [extra_dict or {}]

    def __getstate__(self) -> tuple[dict[int, Any], int, Any, Any]:
        """The module itself for the weak reference, so that a copy belongs to the copied module."""
        owner = None if self._owner is None else self._owner()
        return self._hook_table, self.id, owner, self._extra

    def __setstate__(self, state: tuple[dict[int, Any], int, Any, Any]) -> None:
        RemovableHandle.__init__(self, *state[:3], extra_dict=state[3])

    def hooks_dict_ref(self) -> dict[int, Callable[..., Any]]:
        """The hooks that stand beside this one, functions by number."""
        hooks = self._hook_table
        if not isinstance(hooks, HookTable):
            return hooks
        return {i: hook.function for i, hook in hooks.items() if hook.kind == self._kind}

    def remove(self) -> None:
        """Take the hook out; doing it twice is harmless."""
        for hooks in (self._hook_table, *self._extra):
            hooks.pop(self.id, None)
        owner = None if self._owner is None else self._owner()
        if owner is not None and owner._hook_table is self._hook_table and not self._hook_table:
            owner._hook_table = None  # a module without hooks is called without looking for them

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
