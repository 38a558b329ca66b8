"""Expressions over sizes that give a number in every recording."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

from flambeau.jit.dims import Dim, Size
from flambeau.jit.ir import Arg, Node, Value

Sizes = dict[str, int]


@dataclass
class Fit:
    """Finds the expression over the symbols that gives a number in every recording.

    Args:
        sizes: the sizes of each recording; the first is the base, and for every symbol there is
            one in which it alone differs from the base.
    """

    sizes: Sequence[Sizes]

    def number(self, values: Sequence[Any]) -> Same | Dim | None:
        """The common literal, or a ``Dim``; ``None`` when there is no such expression."""
        first = values[0]
        if any(type(value) is not type(first) for value in values):
            return None
        if all(_same(value, first) for value in values):
            return Same(first)
        if isinstance(first, bool):
            return None
        if isinstance(first, int):
            return self.expression(list(values), "int")
        if isinstance(first, float):
            return self.floating(list(values))
        return None

    def floating(self, values: list[float]) -> Dim | None:
        whole = [int(v) for v in values if abs(v) < 2**53]
        found = self.expression(whole, "float") if len(whole) == len(values) else None
        if found is not None and self.gives(found, values):
            return found
        if any(not v or abs(v) > 1 for v in values):
            return None
        found = self.expression([round(1 / v) for v in values], "reciprocal")
        return found if found is not None and self.gives(found, values) else None

    def expression(self, values: list[int], form: str) -> Dim | None:
        return self.affine(values, form) or self.product(values, form)

    def product(self, values: list[int], form: str) -> Dim | None:
        """A multiple of two or three symbols' product."""
        for count in (2, 3):
            for names in combinations_with_replacement(sorted(self.sizes[0]), count):
                factor, rest = divmod(values[0], math.prod(self.sizes[0][n] for n in names))
                found = Dim((("*".join(names), factor),))
                if factor and not rest and self.gives(found, values):
                    return replace(found, form=form)
        return None

    def affine(self, values: list[int], form: str) -> Dim | None:
        base = self.sizes[0]
        terms = []
        for name in base:
            slope = self.slope(name, values)
            if slope is None:
                return None
            if slope:
                terms.append((name, slope))
        offset = values[0] - sum(slope * base[name] for name, slope in terms)
        found = Dim(tuple(sorted(terms)), offset)
        return replace(found, form=form) if self.gives(found, values) else None

    def slope(self, name: str, values: list[int]) -> int | None:
        """How much the number grows with one symbol, when that is an integer."""
        base = self.sizes[0]
        for sizes, value in zip(self.sizes, values, strict=True):
            if {n for n in base if sizes[n] != base[n]} == {name}:
                slope, rest = divmod(value - values[0], sizes[name] - base[name])
                return None if rest else slope
        return 0

    def gives(self, dim: Dim, values: Sequence[float]) -> bool:
        pairs = zip(self.sizes, values, strict=True)
        return all(dim.evaluate(sizes) == value for sizes, value in pairs)

    def expect(self, op: str, args: tuple[Arg, ...]) -> None:
        """Be told which operator's results come next, where its arguments say their sizes."""

    def met(self, recorded: Value, unified: Value) -> None:
        """Be told what a value of the first recording is in all."""

    def named(self, values: Sequence[int]) -> Dim | None:
        """A size of its own for one that a result has; ``None``: there are no such sizes."""
        return None

    def calculated(self, values: Sequence[int]) -> Dim | None:
        """A size that ``needed`` nodes compute, for a number that is no multiple of others."""
        return None

    def needed(self) -> list[Node]:
        """Nodes that stand before the next one."""
        return []

    def shape(self, shapes: Sequence[tuple[Size, ...]], is_result: bool = False
              ) -> tuple[Size, ...] | None:
        """A shape for all sizes."""
        if len({len(shape) for shape in shapes}) > 1:
            return None
        found: list[Same | Dim | None] = []
        for column in zip(*shapes, strict=True):
            size = self.number(column)
            found.append(self.named(column) if size is None and is_result else size)
        return None if None in found else tuple(unwrap(item) for item in found)


@dataclass(frozen=True)
class Same:
    """A literal that does not change; kept apart from "nothing fits"."""

    value: object


def evaluate_at(side: Any, sizes: Sizes) -> float:
    """A literal or ``Dim`` for given sizes."""
    return side.evaluate(sizes) if isinstance(side, Dim) else side


def unwrap(found: Same | Dim | None) -> Any:
    """The literal or ``Dim`` that ``Fit.number`` found."""
    return found.value if isinstance(found, Same) else found


def _same(one: object, other: object) -> bool:
    if isinstance(one, float | complex):
        return repr(one) == repr(other)
    return one == other
