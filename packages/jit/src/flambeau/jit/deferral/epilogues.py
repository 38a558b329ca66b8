"""Loops over the result of a product or convolution, which run while it is made.

The core runs the loop's code over elements as soon as they are final, by the thread that made them
and while they are in its cache (``core/native/runtime/epilogue.h``). Elements become final in any
order, while others are still computed: the loop may use each by itself, and write nothing that the
product reads.

That pays where the product is made in the memory of the loop's result, so that its own is never
touched, and where both would not fit the last cache: what lies there is read again in no time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flambeau.jit import bridge
from flambeau.jit.deferral.loops import Loop
from flambeau.jit.deferral.pieces import Call, Piece

#: Operands, in sizes of the last cache, from which on a loop runs while its product is made.
LEAST_CACHES = 1

def may_follow(product: Call, loop: Loop, reads: bool) -> bool:
    """Whether a loop may run over a product's result while that is made.

    Args:
        product: the product or convolution.
        loop: the loop, which comes after it.
        reads: whether it has to read the result.
    """
    result = product.outs[0]
    if math.prod(loop.shape) != math.prod(result.shape):
        return False
    if reads and not any(piece.overlaps(result) for piece in loop.loads):
        return False
    if not all(piece.is_contiguous for piece in loop.made):
        return False
    if any(made.overlaps(piece) for made in loop.made for piece in product.reads):
        return False
    return all(_is_element_wise(piece, result, loop) for piece in (*loop.loads, *loop.made)
               if piece.overlaps(result))


def _is_element_wise(piece: Piece, result: Piece, loop: Loop) -> bool:
    """Whether the loop meets the result's elements in their order, one by one."""
    return (piece.start == result.start and piece.dtype == result.dtype and piece.is_contiguous
            and piece.shape == loop.shape)


def place_of(
    product: Call, loop: Loop, stored: Sequence[Piece], needed: set[int]
) -> tuple[Piece, Piece] | None:
    """Where a product may be made so that its loop overwrites it.

    Args:
        product: the product or convolution.
        loop: a loop that may follow it.
        stored: the loop's results that others read.
        needed: the storages that are needed afterwards.

    Returns:
        The product's result as the loop reads it, and the loop's result in whose memory it may be
        made; ``None`` where there is none, or nothing is gained.
    """
    result = product.outs[0]
    met = {piece for piece in (*loop.loads, *loop.made) if piece.overlaps(result)}
    if len(met) != 1 or not _is_large(product, loop, stored):
        return None
    read = met.pop()
    if read in stored:
        return read, read
    if result.storage in needed:
        return None
    for piece in stored:
        if piece.dtype == read.dtype and piece.shape == loop.shape and not any(
                piece.overlaps(other) for other in loop.loads):
            return read, piece
    return None


def _is_large(product: Call, loop: Loop, stored: Sequence[Piece]) -> bool:
    """Whether all that is read and written does not fit the last cache."""
    pieces = {*product.reads, *product.outs, *loop.loads, *stored}
    size = sum(math.prod(piece.shape) * piece.size for piece in pieces)
    return size > LEAST_CACHES * bridge.cache_bytes()
