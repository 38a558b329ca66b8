"""Run a region's machine code on memory."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.cache.kernels import KERNELS, Kernel
from flambeau.jit.llvm.grid import Grid
from flambeau.jit.llvm.kernel import kernel_text
from flambeau.jit.llvm.machine import machine
from flambeau.jit.region import Region

#: Elements of a chunk handed to the thread pool.
GRAIN = 32768

_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)
_PARALLEL = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p
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

    def kernel(self, steps: str, overwrites: tuple[int, ...] = (),
               is_short: bool = False) -> Kernel:
        """The function for operands that step like this, compiled when it is first needed.

        Args:
            steps: see ``kernel_text``.
            overwrites: see there.
            is_short: see there.
        """
        return KERNELS.get(
            (self.key, steps, overwrites, is_short),
            lambda: kernel_text(self.region, steps, machine(), overwrites, is_short))

    def prepare(self, grid: Grid) -> Launch:
        """Everything about a run that does not change with addresses and scalars."""
        words = grid_words(grid)
        kernel = self.kernel(grid.steps, (), grid.is_short)
        return Launch(kernel, grid.total, struct.pack(f"{len(words)}q", *words))

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


def grid_words(grid: Grid) -> list[int]:
    """What stands behind addresses and scalars in the words of a kernel: see ``Layout``."""
    words = [*grid.step_bytes, grid.inner, len(grid.outer)]
    for size, strides in grid.outer:
        words += (size, *strides)
    return words


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


class Launch:
    """A function of machine code and the grid it walks.

    Args:
        kernel: the function; it lives as long as this does.
        total: number of elements.
        grid: what ``words`` holds after addresses and scalars.
    """

    def __init__(self, kernel: Kernel, total: int, grid: bytes) -> None:
        self.kernel = kernel
        self.total = total
        self.grid = grid
        self.function = _KERNEL(kernel.address)

    def run(self, words: Sequence[int]) -> None:
        """Compute into the outputs, in the core's thread pool; Python's lock is released.

        Args:
            words: addresses of the inputs and outputs, then the scalars' words.
        """
        if not self.total:
            return
        memory = struct.pack(f"{len(words)}q", *words) + self.grid
        if self.total > GRAIN:
            _parallel()(self.total, GRAIN, self.kernel.address, memory)
        else:
            self.function(memory, 0, self.total)


@cache
def _parallel() -> Any:
    return _PARALLEL(bridge.parallel_for_address())
