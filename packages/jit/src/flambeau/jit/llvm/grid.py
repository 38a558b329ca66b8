"""How a loop walks its operands: dimensions sorted, merged, and the innermost one apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.jit.llvm.segment import CONTIGUOUS, FIXED, STRIDED

#: Elements of a stretch in which what code prepares for each stretch counts.
SHORT = 256


@dataclass(frozen=True)
class Grid:
    """A walk over all elements.

    Args:
        total: number of elements.
        inner: size of the innermost dimension.
        steps: how each operand steps along it: a letter for the kernel.
        step_bytes: the same in bytes.
        outer: for each further dimension, inner ones first: its size and the operands' strides.
    """

    total: int
    inner: int
    steps: str
    step_bytes: tuple[int, ...]
    outer: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def is_short(self) -> bool:
        """Whether there are many stretches, of few elements each."""
        return self.inner < SHORT and bool(self.outer)


def make_grid(
    shape: Sequence[int], strides: Sequence[Sequence[int]], sizes: Sequence[int]
) -> Grid:
    """Plan the walk.

    Args:
        shape: sizes of the outputs.
        strides: for each operand its strides over that shape, in bytes, 0 where it is broadcast;
            an output last.
        sizes: for each operand the bytes of an element.

    Returns:
        The plan. Dimensions lie in the order of the last operand's memory; neighbours that all
        operands step through together are one.
    """
    dims = [
        (size, tuple(each[d] for each in strides)) for d, size in enumerate(shape) if size != 1
    ]
    dims.sort(key=lambda dim: -dim[1][-1])
    merged: list[tuple[int, tuple[int, ...]]] = []
    for size, steps in dims:
        if merged and all(a == b * size for a, b in zip(merged[-1][1], steps, strict=True)):
            size *= merged.pop()[0]
        merged.append((size, steps))
    inner, step = merged.pop() if merged else (1, (0,) * len(sizes))
    letters = "".join(map(_letter, step, sizes)) if inner > 1 else CONTIGUOUS * len(sizes)
    return Grid(math.prod(shape), inner, letters, step, tuple(reversed(merged)))


def _letter(step: int, size: int) -> str:
    if step == size:
        return CONTIGUOUS
    return FIXED if step == 0 else STRIDED


def broadcast_strides(
    shape: Sequence[int], own: Sequence[int], strides: Sequence[int], size: int
) -> tuple[int, ...]:
    """An operand's strides in bytes over a shape it broadcasts to."""
    pad = len(shape) - len(own)
    found = [0] * len(shape)
    for d, (extent, stride) in enumerate(zip(own, strides, strict=True), pad):
        if extent != 1:
            found[d] = stride * size
    return tuple(found)


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of C order, in elements."""
    found, step = [], 1
    for size in reversed(shape):
        found.append(step)
        step *= max(size, 1)
    return tuple(reversed(found))
