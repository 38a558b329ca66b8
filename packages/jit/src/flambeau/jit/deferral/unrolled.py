"""Reductions of a few elements as formulas over them, and what makes these elements likewise.

``((a[:, None] - b) ** 2).sum(-1)`` of points in space is a formula of six loads: each call that
makes what is reduced becomes a call for every element, over the piece of memory that holds it. What
nobody else reads is never in memory.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from flambeau.core._core import least_waiting
from flambeau.jit.deferral.loops import is_loop
from flambeau.jit.deferral.pieces import Call, Piece
from flambeau.jit.region import FOLDS

#: Longer dimensions the core's kernels reduce in another order.
MAX_ELEMENTS = 7
#: Calls that may come of one plan's.
MAX_CALLS = 96
_DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Cut:
    """A dimension taken apart.

    Args:
        ndim: dimensions of what it is one of.
        dim: its number.
        size: how many elements it has.
        keeps: whether each part keeps it, as one of size 1.
    """

    ndim: int
    dim: int
    size: int
    keeps: bool

    def part(self, piece: Piece, number: int) -> Piece:
        """The elements of one index; all of a piece that is broadcast along the dimension."""
        at = self.dim - (self.ndim - len(piece.shape))
        if at < 0:
            return piece
        start = piece.start
        if piece.shape[at] != 1:
            start += number * piece.strides[at] * piece.size
        shape, strides = list(piece.shape), list(piece.strides)
        shape[at : at + 1] = [1] if self.keeps else []
        strides[at : at + 1] = [0] if self.keeps else []
        return replace(piece, shape=tuple(shape), strides=tuple(strides), start=start)

    def of(self, piece: Piece) -> bool:
        """Whether a piece has this dimension."""
        return len(piece.shape) == self.ndim and piece.shape[self.dim] == self.size


def unroll(calls: Sequence[Call], held: Collection[int]) -> list[Call]:
    """Calls in which reductions of a few elements, and what makes these, are taken apart.

    Args:
        calls: what waited.
        held: the storages that somebody holds.
    """
    cuts: dict[int, Cut] = {}
    for call in reversed(calls):
        cut = _reduction(call) or _maker(call, calls, cuts, held)
        if cut is not None:
            cuts[call.number] = cut
    made: list[Call] = []
    for call in calls:
        cut = cuts.get(call.number)
        made += [call] if cut is None else _parts(call, cut)
    return made if len(made) <= max(MAX_CALLS, len(calls)) else list(calls)


def _reduction(call: Call) -> Cut | None:
    """The dimension that a call reduces, if it has a few elements."""
    if call.op not in FOLDS or call.device:
        return None
    source, result = call.reads[0], call.outs[0]
    if source.dtype not in _DTYPES or result.dtype != source.dtype:
        return None
    if math.prod(result.shape) < least_waiting():
        return None
    dim, ndim = call.argument("dim"), len(source.shape)
    dims = (dim,) if isinstance(dim, int) else tuple(dim or ())
    if len(dims) != 1 or not ndim or not 1 < source.shape[dims[0]] <= MAX_ELEMENTS:
        return None
    return Cut(ndim, dims[0] % ndim, source.shape[dims[0]], len(result.shape) == ndim)


def _maker(
    call: Call, calls: Sequence[Call], cuts: dict[int, Cut], held: Collection[int]
) -> Cut | None:
    """How a call is taken apart, all of whose readers are in one way."""
    if call.device or len(call.outs) != 1 or call.outs[0].storage in held:
        return None
    result = call.outs[0]
    readers = [each for each in calls if each is not call
               and any(piece.storage == result.storage for piece in (*each.reads, *each.outs))]
    found = {cuts.get(each.number) for each in readers}
    cut = found.pop() if len(found) == 1 else None
    if cut is None or not cut.of(result) or not is_loop(call):
        return None
    if any(piece.storage == result.storage for each in (call, *readers)
           for piece in (*each.reads, *each.outs) if piece != result):
        return None
    return cut


def _parts(call: Call, cut: Cut) -> list[Call]:
    numbers = range(cut.size)
    if call.op in FOLDS:
        source = call.reads[0]
        return [replace(call, args=(tuple(cut.part(source, k) for k in numbers), *call.args[1:]),
                        sources=(source, *call.outs))]
    pieces = tuple(piece for piece in (*call.args, *call.outs) if isinstance(piece, Piece))
    return [replace(call, outs=tuple(cut.part(piece, k) for piece in call.outs), sources=pieces,
                    args=tuple(cut.part(arg, k) if isinstance(arg, Piece) else arg
                               for arg in call.args))
            for k in numbers]
