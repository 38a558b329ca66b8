"""Run a region's machine code on memory."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.llvm.engine import KERNELS, Compiled, machine
from flambeau.jit.llvm.grid import Grid
from flambeau.jit.llvm.kernel import kernel_text
from flambeau.jit.region import Region

#: Elements of a chunk handed to the thread pool.
GRAIN = 32768

_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_PARALLEL = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
)


@dataclass(eq=False)
class RegionCode:
    """A region, and the machine code made for each way its operands step.

    Args:
        region: what to compute.
        key: equal for equal regions.
    """

    region: Region
    key: str

    def kernel(self, steps: str) -> Compiled:
        """The function for operands that step like this, compiled when it is first needed."""
        has_fma = machine().has_fma
        return KERNELS.get((self.key, steps), lambda: kernel_text(self.region, steps, has_fma))

    def run(self, grid: Grid, addresses: Sequence[int], scalars: Sequence[object]) -> None:
        """Compute into the outputs.

        Args:
            grid: how to walk.
            addresses: of the inputs, then of the outputs.
            scalars: the numbers of ``region.scalars``, in order.
        """
        if grid.total == 0:
            return
        words = [*addresses, *self.scalar_words(scalars), *grid.step_bytes, grid.inner]
        words.append(len(grid.outer))
        for size, strides in grid.outer:
            words += (size, *strides)
        memory = struct.pack(f"{len(words)}q", *words)
        kernel = self.kernel(grid.steps)
        _run(kernel.address, grid.total, memory)

    def scalar_words(self, scalars: Sequence[Any]) -> list[int]:
        """Two words for each scalar: an integer, or the bits of one or two doubles."""
        words: list[int] = []
        for (_, kind), value in zip(self.region.scalars, scalars, strict=True):
            if kind == "i64":
                words += (_wrap(int(value)), 0)
            elif kind == "bool":
                words += (int(value != 0), 0)
            else:
                number = complex(value)
                words += struct.unpack("2q", struct.pack("2d", number.real, number.imag))
        return words


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _run(address: int, total: int, memory: bytes) -> None:
    """Call the function on all elements, in the core's thread pool; Python's lock is released."""
    words = ctypes.cast(ctypes.c_char_p(memory), ctypes.c_void_p)
    parallel = bridge.parallel_for_address() if total > GRAIN else None
    if parallel is None:
        _KERNEL(address)(words, 0, total)
    else:
        _PARALLEL(parallel)(total, GRAIN, address, words)
