"""Arguments of reductions: geometry merged, then packed as reduce.cuh has it."""
from __future__ import annotations

import struct
from collections.abc import Sequence

DIMS = 12

#: dtype codes of ``flambeau/abi.h``.
DTYPE_CODES = {name: code for code, name in enumerate(
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex64 complex128".split())}
ITEMSIZES = dict(zip(DTYPE_CODES, (1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 8, 16), strict=True))
#: Bytes of an accumulator, at most.
ACCUMULATOR_BYTES = 32


class TooManyDims(Exception):
    """A geometry that does not fit a kernel's argument even after merging dimensions."""


def merge(shape: Sequence[int], strides: Sequence[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Merge neighbouring dimensions that every operand walks as one, and drop those of size 1.

    Raises:
        TooManyDims: more than ``DIMS`` are left.
    """
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for d, n in enumerate(shape):
        if n == 1:
            continue
        if sizes and all(s[-1] == own[d] * n for s, own in zip(steps, strides, strict=True)):
            sizes[-1] *= n
            for s, own in zip(steps, strides, strict=True):
                s[-1] = own[d]
            continue
        sizes.append(n)
        for s, own in zip(steps, strides, strict=True):
            s.append(own[d])
    if len(sizes) > DIMS:
        raise TooManyDims(f"{len(sizes)} dimensions that cannot be merged; kernels take {DIMS}")
    return sizes, steps


def _padded(values: Sequence[int], fill: int = 0) -> list[int]:
    return [*values, *[fill] * (DIMS - len(values))]


def pack_reduce(sizes: Sequence[int], kept: tuple, reduced: tuple, outs: Sequence[Sequence[int]],
              addresses: Sequence[int], dtypes: Sequence[int], correction: float) -> bytes:
    """``fl_reduce``.

    Args:
        sizes: kept, reduced, parts, parts_out.
        kept: Shape and strides of the dimensions that stay.
        reduced: The same of those that are reduced.
        outs: Strides of the first and second output over the kept dimensions.
        addresses: data, partial, partial_out, out, out2.
        dtypes: Codes of the input and the outputs.
        correction: What ``var`` subtracts from the count.
    """
    numbers = [*_padded(kept[0], 1), *_padded(kept[1]), *_padded(reduced[0], 1),
               *_padded(reduced[1]), *_padded(outs[0]), *_padded(outs[1])]
    return struct.pack(f"<4q2i{6 * DIMS}q5Q4id", *sizes, len(kept[0]), len(reduced[0]), *numbers,
                       *addresses, *dtypes, 0, correction)
