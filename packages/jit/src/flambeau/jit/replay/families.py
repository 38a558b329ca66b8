"""Kinds of calls that differ in sizes alone: what was measured of some stands for the others.

A decoder is called at a new length each time. To try each length by itself would take as many
calls as all of them have in a while; what replays save, which is Python, is the same at each.
"""

from __future__ import annotations

from math import prod
from typing import Any

#: A measured part is not clear where it differs from 1 by less, or where more of its pairs
#: disagree with it, as other work slows both.
NARROW, MOST_IN_DISAGREEMENT = 1 / 8, 1 / 5
#: Pairs of a family, of so many sizes at least, that decide for others, and how many are kept.
TRIALS, LEAST_SIZES, MOST_PAIRS = 10, 3, 64
#: They do for calls of up to so many times the elements, or as many times fewer.
REACH = 8


def part_of(pairs: list[float]) -> tuple[float, bool]:
    """The part of a call's time that a replay takes, by several pairs, and whether it is clear."""
    ordered, half = sorted(pairs), len(pairs) // 2
    part = (ordered[half] + ordered[~half]) / 2         # the median
    others = sum((each > 1) != (part > 1) for each in pairs)
    return part, abs(part - 1) > NARROW and others <= MOST_IN_DISAGREEMENT * len(pairs)


class Family:
    """What is known of kinds of calls that differ in sizes alone."""

    def __init__(self) -> None:
        self.pairs: list[tuple[int, float]] = []
        self.found: dict[int, bool] = {}        # what the pairs so far say of each size

    def note(self, size: int, pair: float) -> None:
        """A call of so many elements was made twice: the part of its time that a replay took."""
        self.pairs = [*self.pairs[1 - MOST_PAIRS:], (size, pair)]
        self.found.clear()

    def gains_at(self, size: int) -> bool:
        """Whether calls of so many elements need not be tried: those like them gain."""
        if size not in self.found:
            self.found[size] = self._gains_near(size)
        return self.found[size]

    def _gains_near(self, size: int) -> bool:
        near = [each for each in self.pairs if each[0] <= size * REACH and size <= each[0] * REACH]
        if len(near) < TRIALS or len({each for each, _ in near}) < LEAST_SIZES:
            return False
        part, is_clear = part_of([pair for _, pair in near])
        return is_clear and part < 1


def family_of(kind: tuple[Any, ...]) -> tuple[tuple[Any, ...], int]:
    """What a kind of calls shares with those of other sizes, and how many elements it has."""
    shared: list[Any] = []
    size = 0
    for token in kind:
        if type(token) is tuple and type(token[0]) is tuple:        # a tensor
            shared.append((len(token[0]), *token[1:]))
            size += prod(token[0])
        else:
            shared.append(token)
    return tuple(shared), size
