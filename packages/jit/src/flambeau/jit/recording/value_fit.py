"""Finds sizes that values decide, and sizes computed from them, in numbers of several recordings.

What is no multiple of a size, nor of a product of some, gets a name of its own: a run reads it from
the result that has it, or computes it as Python did.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from flambeau.jit.dims import Dim, Size, symbol
from flambeau.jit.errors import TraceError
from flambeau.jit.ir import Arg, Node, Value, values_in
from flambeau.jit.opset import NUMBER
from flambeau.jit.recording.fit import Fit, Sizes
from flambeau.jit.recording.formulas import Unknown, evaluate, written

#: How many sizes a product has at most.
FACTORS = 3


class ValueFit(Fit):
    """Finds the size, or the sum of sizes that an operator made, of which a number is a multiple.

    Args:
        sizes: the sizes of each recording, invented and named; sizes found later are added.
        computed: the numbers that Python computed in the first one.
    """

    def __init__(self, sizes: Sequence[Sizes], computed: Sequence[Any] = ()) -> None:
        super().__init__(sizes)
        self.by_growth: dict[tuple[int, ...], list[Dim]] = {}
        self.computed: dict[float, list[Any]] = {}
        for each in computed:
            self.computed.setdefault(each, []).append(each)
        self.columns: dict[Dim, list[int]] = {}
        self.fitted: dict[tuple[int, ...], Dim] = {}
        self.unified: dict[Value, Value] = {}
        self.formulas: dict[str, Any] = {}      # of sizes that are computed
        self.made: set[Node] = set()            # what computes them
        self.waiting: list[Node] = []
        for name in sizes[0]:
            self.learn(symbol(name))

    def column(self, size: Dim) -> list[int]:
        """A size in each recording."""
        if size not in self.columns:
            self.columns[size] = [int(size.evaluate(each)) for each in self.sizes]
        return self.columns[size]

    def learn(self, dim: Dim) -> None:
        """Know a size by how it differs from recording to recording."""
        growth, unit = _growth(self.column(dim))
        known = self.by_growth.setdefault(growth, [])
        if unit and any(each.names != dim.names for each in known):
            raise TraceError(f"the sizes {dim} and {known[0]} depend on values, and recordings "
                             "did not tell them from each other")
        known.append(dim)

    def expression(self, values: list[int], form: str) -> Dim | None:
        found = self.fitted.get(tuple(values)) or self.multiple(values) or next(
            self.products(values, FACTORS), None)
        if found is None:
            return None
        self.fitted[tuple(values)] = found
        return replace(found, form=form)

    def multiple(self, values: list[int]) -> Dim | None:
        """A multiple of a known size, and a number."""
        growth, unit = _growth(values)
        for known in self.by_growth.get(growth, ()) if unit else ():
            _, own = _growth(self.column(known))
            factor, rest = divmod(unit, own)
            terms = tuple((name, factor * each) for name, each in known.terms)
            if not rest:    # then it differs as the numbers do
                return Dim(terms, values[0] - self.column(Dim(terms))[0])
        return None

    def products(self, values: list[int], most: int) -> Iterator[Dim]:
        """Multiples of products of up to so many sizes."""
        if most < 2 or 0 in values:
            return
        for name in self.sizes[0]:
            own = self.column(symbol(name))
            if 0 in own or len({*own}) == 1 or any(v % n for v, n in zip(values, own, strict=True)):
                continue
            rest = [v // n for v, n in zip(values, own, strict=True)]
            other = self.multiple(rest)
            found = [other] if other is not None else self.products(rest, most - 1)
            for each in found:
                if len(each.terms) == 1 and not each.offset:
                    (inner, factor), = each.terms
                    yield Dim((("*".join(sorted([name, *inner.split("*")])), factor),))

    def expect(self, op: str, args: tuple[Arg, ...]) -> None:
        """Joined tensors have the sum of their sizes."""
        if op != "cat":
            return
        shapes = [value.shape for value in values_in(args)]
        for column in zip(*shapes, strict=False):
            if any(isinstance(size, Dim) for size in column):
                self.know(_sum(column))

    def met(self, recorded: Value, unified: Value) -> None:
        self.unified[recorded] = unified

    def named(self, values: Sequence[int]) -> Dim:
        """A size of its own, which a result has."""
        name = f"s{sum(each.startswith('s') for each in self.sizes[0])}"
        for sizes, value in zip(self.sizes, values, strict=True):
            sizes[name] = value
        made = symbol(name)
        self.know(made)
        return made

    def know(self, dim: Dim) -> None:
        """Try a size where numbers differ as it does."""
        known = self.by_growth.setdefault(_growth(self.column(dim))[0], [])
        if dim not in known:
            known.append(dim)

    def calculated(self, values: Sequence[int]) -> Dim | None:
        """A size that is computed as Python computed it, by nodes that come next."""
        for number in self.computed.get(values[0], ()):
            try:
                found = [evaluate(number, self.size_of, sizes) for sizes in self.sizes]
                if found != list(values):
                    continue
                nodes = written(number, self.size_of)
            except Unknown:
                continue
            made = self.named(values)
            count = Node(NUMBER, nodes[-1].outputs, (Value((made,), "int64"),))
            self.waiting += [*nodes, count]
            self.made.update(self.waiting)
            self.formulas[str(made)] = number
            return made
        return None

    def size_of(self, value: Value, dim: int) -> Size:
        """A size of what was recorded first, in all recordings."""
        if value not in self.unified:
            raise Unknown
        return self.unified[value].shape[dim]

    def needed(self) -> list[Node]:
        nodes, self.waiting = self.waiting, []
        return nodes


def _sum(sizes: Sequence[Size]) -> Dim:
    terms: dict[str, int] = {}
    offset = 0
    for size in sizes:
        offset += size.offset if isinstance(size, Dim) else size
        for name, factor in size.terms if isinstance(size, Dim) else ():
            terms[name] = terms.get(name, 0) + factor
    return Dim(tuple(sorted(terms.items())), offset)


def _growth(values: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """How numbers differ from the first, by the greatest unit; and this unit, with a sign."""
    steps = [value - values[0] for value in values[1:]]
    unit = math.gcd(*steps)
    if next((step for step in steps if step), 0) < 0:
        unit = -unit
    return tuple(step // unit for step in steps) if unit else (), unit
