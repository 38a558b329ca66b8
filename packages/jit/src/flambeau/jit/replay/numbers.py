"""Numbers of a recorded call that are others at each replay: read from tensors, or counters."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import CellType
from typing import Any

from flambeau.jit import bridge

MISSING = NotImplemented
#: What is computed at a replay as in the call: nothing of it raises, divisors aside.
_ARITHMETIC = (operator.add, operator.iadd, operator.sub, operator.isub, operator.mul,
               operator.imul, operator.neg, operator.pos)
_DIVISIONS = (operator.truediv, operator.itruediv, operator.floordiv, operator.ifloordiv,
              operator.mod, operator.imod)
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
#: Integers beyond this are no counters: floating numbers do not hold them.
_GREATEST = 1 << 50


class Slot:
    """Where a value lies: under a key of a dict, or in a variable of an outer function.

    Args:
        container: the dict or the cell.
        key: the key; nothing for a cell.
    """

    __slots__ = ("container", "key")

    def __init__(self, container: Any, key: Any = None) -> None:
        self.container, self.key = container, key

    @property
    def mark(self) -> tuple[int, Any]:
        """What tells it from others while they are held."""
        return id(self.container), self.key

    def get(self) -> Any:
        """What lies there; ``MISSING`` where nothing does."""
        if type(self.container) is CellType:
            try:
                return self.container.cell_contents
            except ValueError:
                return MISSING
        return dict.get(self.container, self.key, MISSING)

    def put(self, value: Any) -> None:
        """Have something else lie there, and nothing but that happen."""
        if type(self.container) is CellType:
            self.container.cell_contents = value
        elif value is MISSING:
            dict.pop(self.container, self.key, None)
        else:
            dict.__setitem__(self.container, self.key, value)

    def kind(self) -> Any:
        """The class of what lies there."""
        return type(self.get())


class Counter:
    """A number that lies somewhere when a call begins; ``take`` keeps it for the call's end."""

    __slots__ = ("slot", "value")

    def __init__(self, slot: Slot) -> None:
        self.slot, self.value = slot, slot.get()

    def take(self) -> None:
        """Before anything is written there."""
        self.value = self.slot.get()


class Item:
    """What ``item()`` gives of a tensor."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class Computed:
    """What an operator of Python gives of others."""

    __slots__ = ("fn", "parts")

    def __init__(self, fn: Callable[..., Any], parts: tuple[Any, ...]) -> None:
        self.fn, self.parts = fn, parts


def leaves(formula: Any) -> list[Any]:
    """The counters and items of a formula."""
    if isinstance(formula, Computed):
        return [leaf for part in formula.parts for leaf in leaves(part)]
    return [formula] if isinstance(formula, Counter | Item) else []


def at_start(formula: Any) -> Any:
    """The value of a formula of counters before a call."""
    if isinstance(formula, Computed):
        return formula.fn(*map(at_start, formula.parts))
    return formula.slot.get() if isinstance(formula, Counter) else formula


def in_replay(formula: Any, item: Any = None) -> Any:
    """The value of a formula once its counters were taken; ``item`` is that of its tensor."""
    if isinstance(formula, Computed):
        return formula.fn(*(in_replay(part, item) for part in formula.parts))
    if isinstance(formula, Item):
        return item
    return formula.value if isinstance(formula, Counter) else formula


def put_in_replay(put: Callable[[Any], Any], formula: Any, tensor: Any = None) -> None:
    """Write such a value."""
    put(in_replay(formula, None if tensor is None else tensor.item()))


def of_tensor(formula: Any, tensor: Any = None) -> Any:
    """The value of a formula, of a tensor or none."""
    return in_replay(formula, None if tensor is None else tensor.item())


def is_followed(fn: Any, operands: tuple[Any, ...]) -> bool:
    """Whether an operator over these is computed at a replay."""
    if any(type(each) not in (int, float) or type(each) is int and abs(each) > _GREATEST
           for each in operands):
        return False
    return fn in _ARITHMETIC or fn in COMPARISONS


def divides(fn: Any, divisor: Any) -> bool:
    """Whether an operator divides by a number that is the same at each call, and none raises."""
    return fn in _DIVISIONS and type(divisor) in (int, float) and divisor != 0


def own(value: Any) -> Any:
    """The same number as an object of its own, which tells where it is from."""
    return bridge.own_number(value)
