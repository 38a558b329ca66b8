"""Groups as steps that run block by block of rows.

What one item makes the next one finds in the cache, and what nobody else needs is never in memory
at all. A short loop alone whose operands do not fit the last cache streams its results: they are
made in pieces, and written past the caches, so that their lines are not read first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.deferral.groups import Group, Kernel, parts_of
from flambeau.jit.deferral.loops import Loop, code_of
from flambeau.jit.deferral.pieces import ROW_PIECE, TOTAL_PIECE, Call, Piece
from flambeau.jit.deferral.plan import Plan
from flambeau.jit.deferral.rows import RowPart, counted_from_end

#: Bytes that a block's rows take, of all pieces together: a part of the second-level cache.
BLOCK_BYTES = 256 << 10
#: The same of rows that are reduced while the nearest cache holds a part of them.
REDUCED_BYTES = 64 << 10
#: Longer rows leave nothing of the cache to the next item.
MOST_ROW_BYTES = 512 << 10
#: Blocks, so that all threads have some.
FEWEST_BLOCKS = 16
#: Rows that a thread takes at once.
MOST_CHUNK = 64
#: Elements of a block of a loop alone, and how many results and calls one has that streams.
LOOP_BLOCK = 32768
MOST_STREAMED = 4
MOST_STREAMED_CALLS = 3
_PAGE = 4096
#: Blocks of more elements are multiples of this, for random numbers are drawn so many at a time.
_EVEN = 1024
#: Rows of which reductions of rows take a multiple (``FL_REDUCE_ROWS``).
_REDUCED = 8

_Parts = dict[Piece, RowPart | None]
_Item = tuple[Any, ...]


def _parts(item: Loop | Kernel, stored: Sequence[Piece], rows: int) -> _Parts:
    """The rows of an item's pieces, but for results that stay in registers."""
    parts = parts_of(item, rows) or {}
    if isinstance(item, Kernel):
        return parts
    return {piece: parts[piece] for piece in (*item.loads, *stored)}


def _block(group: Group, parts: Sequence[_Parts]) -> int:
    """Rows of a block; 0 where rows are too long for it to be worth while."""
    bytes_of: dict[Piece, int] = {}
    for each in parts:
        for piece, part in each.items():
            bytes_of[piece] = part.extent(piece.size) if part and part.stride else 0
    row = sum(bytes_of.values())
    if group.reduces_rows:
        if _REDUCED * row > MOST_ROW_BYTES:
            return 0
        most = max(_REDUCED, REDUCED_BYTES // row)
        return min(ROW_PIECE, 1 << most.bit_length() - 1)
    if row > MOST_ROW_BYTES:
        return 0
    block = max(1, min(BLOCK_BYTES // max(row, 1), -(-group.rows // FEWEST_BLOCKS)))
    if group.has_total:
        return max(1, block // TOTAL_PIECE) * TOTAL_PIECE
    return block - block % _EVEN if block > _EVEN else block


class _Written:
    """The part of a row that was written, of one storage.

    Args:
        start: bytes before the first row.
        stride: bytes of a row.
    """

    def __init__(self, start: int, stride: int) -> None:
        self.start, self.stride = start, stride
        self.pieces: set[Piece] = set()
        self.bytes = bytearray(min(stride, MOST_ROW_BYTES))

    def add(self, piece: Piece, part: RowPart) -> bool:
        """Note what is written; whether it lies within its row."""
        first, end = self._interval(piece, part)
        self.pieces.add(piece)
        if math.prod(part.shape) * piece.size == end - first:
            self.bytes[first:end] = b"\1" * (end - first)
        return part.stride == self.stride > 0 and end <= self.stride <= MOST_ROW_BYTES

    def holds(self, piece: Piece, part: RowPart | None) -> bool:
        """Whether all of a piece's rows were written."""
        if part is None or part.stride != self.stride or piece.start < self.start:
            return False
        first, end = self._interval(piece, part)
        return end <= self.stride and (piece in self.pieces
                                       or self.bytes.find(0, first, end) < 0)

    def _interval(self, piece: Piece, part: RowPart) -> tuple[int, int]:
        first = piece.start - self.start
        return first, first + part.extent(piece.size)


def _scratch(items: Sequence[Loop | Kernel], parts: Sequence[_Parts]) -> dict[int, tuple[int, int]]:
    """The storages that are written before they are read: where a row starts, and its bytes."""
    found: dict[int, _Written] = {}
    for item, each in zip(items, parts, strict=True):
        for piece in item.writes:
            part = each.get(piece)
            if part is not None:
                own = found.setdefault(piece.storage, _Written(piece.start, part.stride))
                own.start = min(own.start, piece.start)
    refused = set()
    for item, each in zip(items, parts, strict=True):
        for piece in item.reads:
            if piece.storage in found and not found[piece.storage].holds(piece, each[piece]):
                refused.add(piece.storage)
        for piece in item.writes:
            part = each.get(piece)
            if part is not None and not found[piece.storage].add(piece, part):
                refused.add(piece.storage)
    return {storage: (own.start, own.stride) for storage, own in found.items()
            if storage not in refused}


class _Rows:
    """A step of rows.

    Args:
        items: what runs.
        stored: for each item the results that others read.
        parts: for each item the rows of its pieces.
        rows: how many.
        needed: the storages that are needed afterwards.
    """

    def __init__(self, items: Sequence[Loop | Kernel], stored: Sequence[Sequence[Piece]],
                 parts: Sequence[_Parts], rows: int, needed: set[int]) -> None:
        self.items, self.stored, self.parts, self.rows = items, stored, parts, rows
        self.scratch = {storage: offset for storage, offset in _scratch(items, parts).items()
                        if storage not in needed}
        self.streamed: set[int] = set()

    def add_to(self, plan: Plan, block: int, chunk: int) -> None:
        """Append the step."""
        self.offsets: dict[int, int] = {}
        size = 0
        for storage, (_, stride) in self.scratch.items():
            self.offsets[storage] = size
            size += (-(-stride * block // _PAGE) + 1) * _PAGE
        made = [self.call(item.call, each) if isinstance(item, Kernel)
                else self.code(plan, item, pieces, each)
                for item, pieces, each in zip(self.items, self.stored, self.parts, strict=True)]
        plan.steps.append(((self.rows, block, chunk, size), tuple(made)))
        names = "; ".join(item.name for item in self.items)
        plan.about.append(f"{self.rows} rows, {block} at a time: {names}")

    def memory(self, piece: Piece, part: RowPart | None) -> tuple[int, int]:
        stride = part.stride if part else 0
        if piece.storage not in self.scratch:
            return (-1, stride)
        return (self.offsets[piece.storage] + piece.start - self.scratch[piece.storage][0], stride)

    def code(self, plan: Plan, loop: Loop, stored: Sequence[Piece], parts: _Parts) -> _Item:
        code = code_of(loop, stored)
        plan.kept.append(code.kernel)
        plan.doubtful |= code.moves
        address, total, *rest = code.step
        memories = tuple(self.memory(piece, parts[piece]) for piece in code.pieces)
        numbered = [(number, piece) for number, piece in enumerate(code.pieces)]
        streamed = [pair for number, piece in numbered[len(loop.loads):]
                    if piece.storage in self.streamed for pair in (number, piece.size)]
        fetched = [pair for number, piece in numbered[: len(loop.loads)]
                   if piece.shape == loop.shape and piece.is_contiguous
                   for pair in (number, piece.size)]
        return ((address, total // self.rows, *rest), memories, tuple(streamed), tuple(fetched))

    def call(self, call: Call, parts: _Parts) -> _Item:
        if call.is_gathered:
            return ((call.number, call.width), self.memory(call.reads[0], parts[call.reads[0]]))
        values = []
        for value in (*call.args, *call.outs):
            part = parts[value] if isinstance(value, Piece) else None
            values.append(part and (self.memory(value, part), part.has_rows, part.shape,
                                    part.strides))
        return (call.number, tuple(values), counted_from_end(call))


def add_rows(
    plan: Plan, group: Group, stored: Sequence[Sequence[Piece]], needed: set[int]
) -> bool:
    """Append one step for all items of a group, unless its rows are too long."""
    parts = [_parts(item, pieces, group.rows)
             for item, pieces in zip(group.items, stored, strict=True)]
    block = _block(group, parts)
    if block:
        chunk = max(1, min(MOST_CHUNK // block, -(-group.rows // (FEWEST_BLOCKS * block))))
        if group.reduces_rows:      # a thread takes whole pieces, in order
            chunk = ROW_PIECE // block
        _Rows(group.items, stored, parts, group.rows, needed).add_to(plan, block, chunk)
        plan.doubtful = True        # of few rows, or short ones, kernels may take longer in pieces
    return block > 0


def add_streamed(plan: Plan, loop: Loop, stored: Sequence[Piece]) -> bool:
    """Append a loop whose results are streamed, if that is worth while."""
    rows = math.prod(loop.shape)
    if len(loop.calls) > MOST_STREAMED_CALLS or not _is_large(loop, stored):
        return False
    if len(stored) > MOST_STREAMED or parts_of(loop, rows) is None:
        return False
    needed = {piece.storage for piece in stored}
    step = _Rows([loop], [stored], [_parts(loop, stored, rows)], rows, needed)
    step.streamed = needed
    step.add_to(plan, LOOP_BLOCK, 1)
    return True


def _is_large(loop: Loop, stored: Sequence[Piece]) -> bool:
    """Whether a loop's operands do not fit the last cache, and its results are a good part of them.

    Lines of an operand that is overwritten are read anyway.
    """
    read = {piece.storage: math.prod(piece.shape) * piece.size for piece in loop.loads}
    written = {piece.storage: math.prod(piece.shape) * piece.size for piece in stored}
    cache = bridge.cache_bytes()
    return (not read.keys() & written.keys() and 4 * sum(written.values()) >= cache
            and len(written) == len(stored)
            and sum(read.values()) + sum(written.values()) > cache)
