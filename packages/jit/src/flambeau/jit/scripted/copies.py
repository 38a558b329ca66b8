"""The modules that ``jit.script`` gives: objects of their own over the same tensors.

Modes are theirs: ``scripted.eval()`` leaves the module that was scripted, and its submodules, as
they are. Values are shared, so that training one trains the other.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from flambeau.jit import bridge


def copied(module: Any) -> Any:
    """A copy of a module and its submodules, whose tensors are the same objects.

    Args:
        module: the module. What cannot be copied, such as a lock, is shared as well.
    """
    parts = list(module.modules()) if hasattr(module, "modules") else [module]
    shared = {id(value): value for part in parts for value in _tensors(vars(part))}
    while True:
        refused = _try(parts, shared)
        if not isinstance(refused, _Refused):
            return refused
        shared[id(refused.value)] = refused.value


def _tensors(value: Any) -> Iterator[Any]:
    """The tensors in a value, as far as it is a container."""
    if bridge.is_tensor(value):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _tensors(each)


class _Refused:
    """A value that cannot be copied."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _try(parts: Sequence[Any], shared: dict[int, Any]) -> Any:
    """The copy of the first of these modules, or the first attribute that cannot be copied."""
    memo = dict(shared)
    for part in parts:      # whatever a class does where Python asks it for a copy
        memo[id(part)] = object.__new__(type(part))
    for part in parts:
        for name, value in vars(part).items():
            try:
                vars(memo[id(part)])[name] = copy.deepcopy(value, memo)
            except Exception:   # an object may refuse in whichever way it likes
                return _Refused(value)
    return memo[id(parts[0])]
