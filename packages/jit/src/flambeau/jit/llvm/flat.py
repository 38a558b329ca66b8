"""Walks over operands as if all of them lay side by side.

The core moves those that do not, and results back, a piece at a time
(``core/native/deferral/moved.cpp``): so every loop has vectors, however short its rows are.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.jit.llvm.grid import SHORT, Grid
from flambeau.jit.llvm.segment import CONTIGUOUS, FIXED, STRIDED

#: Of each operand that is moved: its number, whose place it takes, whether it is a result, bytes of
#: an element; then size and stride, in elements, of each dimension, inner ones first.
Moved = tuple[tuple[int, ...], ...]

#: Elements of a row from which on code of few instructions takes less time without moving them.
PLAIN_SHORT, PLAIN_LENGTH = 64, 16


def side_by_side(
    grid: Grid, sizes: Sequence[int], overwrites: Sequence[int], length: int
) -> tuple[Grid, Moved]:
    """A walk over elements side by side, where the given one has no long rows of them.

    Args:
        grid: how the operands lie.
        sizes: bytes of an element of each.
        overwrites: for each result the input that lies in the same memory, or -1.
        length: instructions for an element.

    Returns:
        The walk, and what is moved for it; the given one and nothing where that gains nothing.
    """
    is_short = bool(grid.outer) and grid.inner < (SHORT if length > PLAIN_LENGTH else PLAIN_SHORT)
    if not (is_short or STRIDED in grid.steps):
        return grid, ()
    dims = ((grid.inner, grid.step_bytes), *grid.outer)
    first = len(sizes) - len(overwrites)
    steps, letters, moved = [], "", []
    for k, size in enumerate(sizes):
        own = _merged([(n, strides[k]) for n, strides in dims])
        is_number = all(stride == 0 for _, stride in own)
        letters += FIXED if is_number else CONTIGUOUS
        steps.append(0 if is_number else size)
        if is_number or own == [(grid.total, size)]:
            continue
        source = overwrites[k - first] if k >= first else -1
        pairs = (number for n, stride in own for number in (n, stride // size))
        moved.append((k, source if source >= 0 else k, int(k >= first), size, *pairs))
    return Grid(grid.total, grid.total, letters, tuple(steps), ()), tuple(moved)


def _merged(dims: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """One operand's dimensions, where neighbours that it steps through together are one."""
    found: list[tuple[int, int]] = []
    for size, stride in dims:
        if found and stride == found[-1][0] * found[-1][1]:
            size, stride = size * found[-1][0], found.pop()[1]
        found.append((size, stride))
    return found
