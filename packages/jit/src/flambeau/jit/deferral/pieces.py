"""Calls that wait, as formulas and kernels over pieces of memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flambeau.core.opdefs import OpDef
from flambeau.jit.opset import find_opdef

#: Elements that the core's reductions take at once of long rows (``FL_REDUCE_PIECE``).
TOTAL_PIECE = 8192
#: Rows that they take at once of tall columns, and the columns of which they take several rows as
#: one (``FL_COLUMN_PIECE``, ``FL_NARROW_COLUMNS``).
ROW_PIECE = 512
NARROW = 16
_TOTALS = ("sum", "prod", "mean", "amax", "amin")


@dataclass(frozen=True)
class Piece:
    """Elements in memory: a storage by number, and how they lie in it.

    Args:
        storage: its number.
        dtype: name of the dtype.
        shape: sizes.
        strides: in elements.
        start: bytes before the first element.
        size: bytes of an element.
        device: the core's code of its device; 0 on the CPU.
    """

    storage: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    size: int
    device: int = 0

    @cached_property
    def end(self) -> int:
        """The first byte after the last element."""
        pairs = zip(self.shape, self.strides, strict=True)
        last = sum((size - 1) * stride for size, stride in pairs)
        return self.start + (last + 1) * self.size

    def overlaps(self, other: Piece) -> bool:
        """Whether they may share memory."""
        return (self.storage == other.storage and self.start < other.end
                and other.start < self.end and not _are_apart(self, other))

    @cached_property
    def is_contiguous(self) -> bool:
        """Whether it lies in C order, without gaps."""
        step = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return False
            step *= size
        return True


def _are_apart(one: Piece, other: Piece) -> bool:
    """Whether no byte of two pieces is the same: slices of one tensor, beside each other.

    An address is a number whose digits count strides, the longest first, and bytes at the end.
    Where no digit of a piece runs over into the one before, each takes an interval of its own.
    """
    strides = sorted({stride * piece.size for piece in (one, other)
                      for size, stride in zip(piece.shape, piece.strides, strict=True)
                      if size > 1 and stride} | {1}, reverse=True)
    first, second = _digits(one, strides), _digits(other, strides)
    return bool(first and second) and any(a[1] < b[0] or b[1] < a[0]
                                          for a, b in zip(first, second, strict=True))


def _digits(piece: Piece, strides: Sequence[int]) -> list[tuple[int, int]]:
    """The least and greatest digit of addresses for each stride; none if one runs over."""
    counts = dict.fromkeys(strides, 0)
    counts[1] = piece.size - 1
    for size, stride in zip(piece.shape, piece.strides, strict=True):
        if size > 1 and stride:
            counts[stride * piece.size] += size - 1
    found, rest, most = [], piece.start, piece.end - 1
    for stride in strides:
        first, rest = divmod(rest, stride)
        most -= (first + counts[stride]) * stride
        if most >= stride:
            return []
        found.append((first, first + counts[stride]))
    return found


#: A piece, the number of a value, and bytes from that value's first element.
Address = tuple[Piece, int, int]


@dataclass(frozen=True)
class Call:
    """One kernel that waits.

    Args:
        number: its place in the order of calls.
        op: key of the definition.
        args: pieces, numbers and what else the definition takes.
        outs: pieces.
        first: number of its first value; arguments come first, then results.
        sources: of a call for a part of each piece the pieces that it is part of; else nothing.
    """

    number: int
    op: str
    args: tuple[Any, ...]
    outs: tuple[Piece, ...]
    first: int
    sources: tuple[Piece, ...] = ()

    @cached_property
    def opdef(self) -> OpDef:
        """The definition."""
        opdef = find_opdef(self.op)
        assert opdef is not None
        return opdef

    @cached_property
    def reads(self) -> tuple[Piece, ...]:
        """The pieces among the arguments; of what random numbers replace nothing is read."""
        if self.opdef.rows == "drawn":
            return ()
        given = self.args[0] if self.is_fold else self.args
        return tuple(arg for arg in given if isinstance(arg, Piece))

    @property
    def is_fold(self) -> bool:
        """Whether it reduces pieces, element by element, which its first argument holds."""
        return bool(self.args) and isinstance(self.args[0], tuple) and bool(self.sources)

    def addresses(self) -> tuple[list[Address], list[Address]]:
        """Where what it reads and writes lies: the value, and bytes from its first element."""
        sources = iter(self.sources)
        values = [*self.args, *self.outs]
        found: list[list[Address]] = [[], []]
        for number, value in enumerate(values, self.first):
            parts = value if number == self.first and self.is_fold else (value,)
            if not isinstance(parts[0], Piece):
                continue
            source = next(sources, parts[0])
            found[number - self.first >= len(self.args)] += [
                (piece, number, piece.start - source.start) for piece in parts]
        return found[0], found[1]

    @property
    def device(self) -> int:
        """Where it runs."""
        return self.outs[0].device

    @property
    def is_by_element(self) -> bool:
        """Whether it is a kernel whose elements need no more than their index."""
        return self.opdef.rows in ("elements", "drawn")

    @cached_property
    def is_total(self) -> bool:
        """Whether it reduces all elements, and may do so in pieces of ``TOTAL_PIECE``."""
        dims = self._reduced
        return (dims is not None and len(dims) == len(self.reads[0].shape)
                and math.prod(self.reads[0].shape) > TOTAL_PIECE)

    @cached_property
    def width(self) -> int:
        """Elements of a row where it reduces all rows, and may do so in pieces of ``ROW_PIECE``.

        0 otherwise.
        """
        dims = self._reduced
        if dims is None:
            return 0
        shape = self.reads[0].shape
        lead = max((d + 1 for d in dims if shape[d] > 1), default=0)
        rows, width = math.prod(shape[:lead]), math.prod(shape[lead:])
        is_leading = all(d in dims or shape[d] == 1 for d in range(lead))
        return width if is_leading and rows > ROW_PIECE and width > NARROW else 0

    @cached_property
    def _reduced(self) -> set[int] | None:
        """The dimensions that it reduces to their results' precision; ``None`` where not so."""
        if self.op not in _TOTALS or self.device:
            return None
        source, dim = self.reads[0], self.argument("dim")
        ndim = len(source.shape)
        dims = range(ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
        fits = (source.is_contiguous and source.dtype == self.outs[0].dtype
                and source.dtype in ("float32", "float64", "int64"))
        return {(d + ndim) % ndim for d in dims} if fits and ndim else None

    @property
    def has_one_row(self) -> bool:
        """Whether it reduces all elements to one, or all of them are its only row."""
        if self.opdef.rows != "dim":
            return False
        shape, dim = self.reads[0].shape, self.argument("dim")
        if dim is None:
            return True
        dims = {d % len(shape) for d in ((dim,) if isinstance(dim, int) else dim)} if shape else ()
        return all(d in dims for d, size in enumerate(shape) if size != 1)

    @property
    def is_gathered(self) -> bool:
        """Whether it reduces what are rows of others, piece by piece."""
        return self.is_total or self.width > 0

    def argument(self, name: str) -> Any:
        """The argument of a name."""
        return next(arg for arg, param in zip(self.args, self.opdef.params, strict=True)
                    if param.name == name)

    def meets(self, reads: Sequence[Piece], writes: Sequence[Piece]) -> bool:
        """Whether it has to stay after, or before, others that read and write these."""
        return (any(out.overlaps(piece) for out in self.outs for piece in (*reads, *writes))
                or any(read.overlaps(piece) for read in self.reads for piece in writes))


def calls_of(noted: Sequence[tuple[str, list[Any], list[Any]]]) -> list[Call]:
    """What the core noted: for each call its key, arguments and results."""
    calls, first = [], 0
    for number, (op, args, outs) in enumerate(noted):
        made = tuple(Piece(*arg) if _is_piece(arg) else arg for arg in args)
        calls.append(Call(number, op, made, tuple(Piece(*out) for out in outs), first))
        first += len(args) + len(outs)
    return calls


def _is_piece(arg: object) -> bool:
    return isinstance(arg, tuple) and len(arg) in (6, 7) and isinstance(arg[1], str)
