"""Images and volumes at the points of a grid, step by step as the core's kernel computes them.

Coordinates become pixels, are brought inside, and give the elements and weights of each axis; a
result is the sum of the products over the axes, in order. Every step is rounded as there.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flambeau.jit import bridge

Tensor = Any
_NEAREST, _CUBIC = 1, 2
_ZEROS, _REFLECTION = 0, 2
#: Beyond this an element is named by no integer of 32 bits: outside of every input.
_MOST = float(2**30)


@dataclass(frozen=True)
class _Axis:
    """How the points of a grid are read along a dimension of the input."""

    size: int
    mode: int
    border: int
    align: bool

    def taps(self, points: Tensor) -> list[tuple[Tensor, Tensor | None]]:
        """The element that each tap reads, outside of the input where there is none, and its
        weight; None where that is 1."""
        x = points + 1.0
        last = float(self.size - 1)
        at = x / 2.0 * last if self.align else (x * float(self.size) - 1.0) / 2.0
        if self.mode == _CUBIC:
            return self._cubic(_limited(at))
        at = self._inside(at)
        if self.mode == _NEAREST:
            return [(at.round().long(), None)]
        below = at.floor()
        part, first = at - below, below.long()
        return [(first, 1.0 - part), (first + 1, part)]

    def _cubic(self, at: Tensor) -> list[tuple[Tensor, Tensor | None]]:
        below, found = at.floor(), []
        for k in range(4):
            x = (at - below + 1.0 - float(k)).abs()
            weight = ((1.25 * x - 2.25) * x * x + 1.0 if k in (1, 2)
                      else ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0)
            found.append((self._inside(below + float(k - 1)).long(), weight))
        return found

    def _inside(self, at: Tensor) -> Tensor:
        if self.border == _REFLECTION:
            at = self._reflected(at)
        if self.border != _ZEROS:
            last = float(self.size - 1)
            at = bridge.call("where", [at > 0, _least(at, last), at.new_zeros(())])[0]
        return _limited(at)

    def _reflected(self, at: Tensor) -> Tensor:
        low, span = (0.0, self.size - 1.0) if self.align else (-0.5, float(self.size))
        if span == 0:
            return at * 0.0 + low
        away = (at - low).abs()
        rest = away - (away / (2 * span)).floor() * (2 * span)
        return bridge.call("where", [rest > span, 2 * span - rest, rest])[0] + low


def _least(at: Tensor, last: float) -> Tensor:
    return bridge.call("where", [at < last, at, at.new_full((), last)])[0]


def _limited(at: Tensor) -> Tensor:
    named = (at > -_MOST) & (at < _MOST)
    return bridge.call("where", [named, at, at.new_full((), -100.0)])[0]


def sampled(x: Tensor, grid: Tensor, mode: int = 0, border: int = 0, align: Any = False) -> Tensor:
    """``grid_sampler`` by operators that have machine code."""
    sizes: Sequence[int] = x.shape[2:]
    axes = [_Axis(size, mode, border, bool(align)).taps(grid.select(-1, len(sizes) - 1 - d))
            for d, size in enumerate(sizes)]
    images, channels = x.shape[:2]
    planes = x.reshape(images, channels, -1)
    total = None
    for taps in itertools.product(*axes):
        part = _product(planes, list(taps), sizes)
        total = part if total is None else total + part
    assert total is not None
    return (total + 0.0).reshape(images, channels, *grid.shape[1:-1])


def _product(planes: Tensor, taps: list[tuple[Tensor, Tensor | None]], sizes: Sequence[int]
             ) -> Tensor:
    """One tap of all axes: the elements times the product of the weights, 0 outside."""
    images, channels = planes.shape[:2]
    offset = inside = weight = None
    for (index, own), size in zip(taps, sizes, strict=True):
        there = (index >= 0) & (index < size)
        offset = index if offset is None else offset * size + index
        inside = there if inside is None else inside & there
        if own is not None:
            weight = own if weight is None else weight * own
    assert offset is not None and inside is not None
    flat = bridge.call("where", [inside, offset, offset.new_zeros(())])[0].reshape(images, 1, -1)
    element = planes.gather(2, flat.expand(images, channels, flat.shape[2]))
    if weight is not None:
        element = weight.reshape(images, 1, -1) * element
    return bridge.call("where", [inside.reshape(images, 1, -1), element, element.new_zeros(())])[0]
