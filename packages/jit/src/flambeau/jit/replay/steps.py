"""What a step of an optimizer or a learning-rate scheduler may change."""

from __future__ import annotations

from typing import Any

from flambeau.core.homes import own_module

from . import trust

_CONTAINERS = (list, tuple, set, *trust.DICTS)


def changed_by(stepper: Any) -> tuple[set[int], bool]:
    """The addresses of what is a part of one, and whether it calls functions of the program, as
    ``LambdaLR`` does, which may change anything."""
    found: dict[int, Any] = {}
    is_blind = False
    todo = [stepper]
    while todo:
        each = todo.pop()
        if id(each) in found or trust.is_tensor(each) or trust.is_value(each):
            continue
        found[id(each)] = each
        if isinstance(each, _CONTAINERS):
            todo += each.values() if isinstance(each, dict) else each
        elif own_module(type(each)).startswith("flambeau.optim"):
            todo.append(vars(each))
        else:
            is_blind |= callable(each) and not own_module(each).startswith("flambeau.")
    return set(found), is_blind
