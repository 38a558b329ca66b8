"""Sizes while a function is recorded: integers that note what they are compared with.

Which path Python takes may depend on a size only where a size is compared. So the bounds of what a
program may be called with lie beside the numbers that were seen in comparisons.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.locations import caller

Sources = tuple[tuple[Any, int], ...]


@dataclass(frozen=True)
class Comparison:
    """Two numbers that were compared, or one that was lost sight of.

    Args:
        left: the one.
        right: the other.
        is_linear: whether both are sums of multiples of sizes.
        sources: the values and dimensions whose sizes went into them.
        where: the line.
    """

    left: Any
    right: Any
    is_linear: bool
    sources: Sources
    where: str


class Log(list[Comparison]):
    """Comparisons, and the numbers that Python computed from sizes, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.computed: list[Traced] = []


class Traced:
    """What sizes and numbers computed from them have in common.

    A size has no ``formula``. Another number has the name of Python's method and its operands.
    """

    log: list[Comparison]
    sources: Sources
    is_linear: bool
    formula: tuple[Any, ...] | None

    def note(self, other: Any, is_linear: bool = True) -> None:
        """Remember a comparison."""
        sources = self.sources
        linear = is_linear and self.is_linear
        if isinstance(other, Traced):
            sources, linear = (*sources, *other.sources), linear and other.is_linear
        self.log.append(Comparison(plain(self), plain(other), linear, sources, caller()))


class TracedInt(int, Traced):
    """A size."""

    __hash__ = int.__hash__

    def __bool__(self) -> bool:
        self.note(0)
        return int.__bool__(self)

    def __int__(self) -> int:
        self.note(0, is_linear=False)
        return int.__int__(self)

    def __float__(self) -> float:
        self.note(0, is_linear=False)
        return int.__float__(self)


class TracedFloat(float, Traced):
    """A number computed from sizes."""

    __hash__ = float.__hash__

    def __bool__(self) -> bool:
        self.note(0, is_linear=False)
        return float.__bool__(self)

    def __int__(self) -> int:
        self.note(0, is_linear=False)
        number = float.__int__(self)
        _made(TracedInt, number, self.log, self.sources, False, ("__trunc__", self, None))
        return number


class OperandInt(TracedInt):
    """A size that operators of tensors take as a tensor where they take no number."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        as_tensors = getattr(func, "__name__", "") in ("stack", "cat")
        return func(*(_operand(arg, as_tensors) for arg in args),
                    **{name: _operand(arg, False) for name, arg in (kwargs or {}).items()})


def _operand(arg: Any, as_tensors: bool) -> Any:
    """An argument without sizes; a list of them as tensors where only such lists are taken."""
    if isinstance(arg, OperandInt):
        return plain(arg)
    if not isinstance(arg, list | tuple) or not any(isinstance(each, OperandInt) for each in arg):
        return arg
    return [bridge.number_of(each) if as_tensors and isinstance(each, OperandInt) else plain(each)
            for each in arg]


def plain(value: Any) -> Any:
    """The number alone."""
    if isinstance(value, TracedInt):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, TracedFloat) else value


def traced(value: int, log: list[Comparison], sources: Sources) -> TracedInt:
    """A size as it is recorded."""
    return _made(OperandInt if isinstance(log, Log) else TracedInt, value, log, sources, True)


def _made(cls: Any, value: Any, log: list[Comparison], sources: Sources, is_linear: bool,
          formula: tuple[Any, ...] | None = None) -> Any:
    made = cls(value)
    made.log, made.sources, made.is_linear, made.formula = log, sources, is_linear, formula
    if formula and isinstance(log, Log):
        log.computed.append(made)
    return made


def _arithmetic(name: str, is_linear: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def compute(self: Any, other: Any = None) -> Any:
        base = int if isinstance(self, TracedInt) and not isinstance(other, float) else float
        args = () if name in _UNARY and other is None else (plain(other),)
        value = getattr(base, name)(base(plain(self)), *args) if hasattr(base, name) else \
            NotImplemented
        sources = self.sources + (other.sources if isinstance(other, Traced) else ())
        linear = self.is_linear and is_linear(self, other)
        formula = name, self, other
        if type(value) is int:
            return _made(TracedInt, value, self.log, sources, linear, formula)
        if type(value) is float:
            return _made(TracedFloat, value, self.log, sources, False, formula)
        return value

    return compute


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    compare = getattr(operator, name.strip("_"))

    def note_and_compare(self: Any, other: Any) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented
        self.note(other)
        return compare(plain(self), plain(other))

    return note_and_compare


_UNARY = ("__neg__", "__pos__", "__abs__", "__trunc__", "__floor__", "__ceil__", "__round__")
_SUMS = ("__add__", "__radd__", "__sub__", "__rsub__", "__neg__", "__pos__")
_PRODUCTS = ("__mul__", "__rmul__")
_OTHERS = ("__truediv__", "__rtruediv__", "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__",
           "__pow__", "__rpow__", "__abs__", "__trunc__", "__floor__", "__ceil__", "__round__",
           "__lshift__", "__rlshift__", "__rshift__", "__rrshift__", "__and__", "__rand__",
           "__or__", "__ror__", "__xor__", "__rxor__")


def _is_sum(one: Any, other: Any) -> bool:
    return not isinstance(other, Traced) or other.is_linear


def _is_multiple(one: Any, other: Any) -> bool:
    return type(other) is int


def _is_other(one: Any, other: Any) -> bool:
    return False


for _cls, _base in ((TracedInt, int), (TracedFloat, float)):
    for _names, _rule in ((_SUMS, _is_sum), (_PRODUCTS, _is_multiple), (_OTHERS, _is_other)):
        for _name in _names:
            if hasattr(_base, _name):
                setattr(_cls, _name, _arithmetic(_name, _rule))
    for _name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
        setattr(_cls, _name, _comparison(_name))
