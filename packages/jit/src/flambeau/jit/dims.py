"""Sizes that depend on the inputs: sums of multiples of symbols and their products: ``2*N*T+1``.

Shapes and integer attributes hold either an ``int`` or a ``Dim``. A ``Dim`` can also stand for a
floating number made from a size: ``float(N)`` or ``1.0/N``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

FORMS = ("int", "float", "reciprocal")


@dataclass(frozen=True)
class Dim:
    """A sum of multiples of symbols.

    Args:
        terms: pairs of symbol and factor, sorted by symbol, factors not zero; the name of a
            product has its symbols in order: ``B*T``.
        offset: what is added.
        form: ``int``; ``float`` for the same as a float; ``reciprocal`` for one over it.
    """

    terms: tuple[tuple[str, int], ...]
    offset: int = 0
    form: str = "int"

    def __str__(self) -> str:
        parts = [name if factor == 1 else f"{factor}*{name}" for name, factor in self.terms]
        text = "+".join(parts).replace("+-", "-")
        if self.offset:
            text += f"{self.offset:+d}"
        if self.form == "float":
            return f"float({text})"
        return f"1.0/({text})" if self.form == "reciprocal" else text

    __repr__ = __str__

    @property
    def names(self) -> tuple[str, ...]:
        """The symbols in it."""
        return tuple(dict.fromkeys(each for name, _ in self.terms for each in factors(name)))

    def evaluate(self, sizes: Mapping[str, int]) -> int | float:
        """Its value for given symbols."""
        value = self.offset + sum(
            factor * math.prod([sizes[each] for each in factors(name)])
            for name, factor in self.terms)
        if self.form == "float":
            return float(value)
        return 1.0 / value if self.form == "reciprocal" else value


Size = int | Dim


def factors(name: str) -> list[str]:
    """The symbols in the name of a term: one, or those of a product."""
    return name.split("*")


def symbol(name: str) -> Dim:
    """The size called ``name``."""
    return Dim(((name, 1),))


def evaluate(size: Size, sizes: Mapping[str, int]) -> int:
    """The number a size stands for."""
    return int(size.evaluate(sizes)) if isinstance(size, Dim) else size


def shape_for(shape: tuple[Size, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """A shape with its symbols filled in."""
    return tuple(evaluate(size, sizes) for size in shape)
