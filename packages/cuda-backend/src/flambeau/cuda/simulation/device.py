"""The simulated device: its launches and copies."""
from __future__ import annotations

import ctypes
import re
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

from flambeau.cuda import source
from flambeau.cuda.compositions import run_composition
from flambeau.cuda.generated import GeneratedBackend
from flambeau.cuda.simulation.building import build, default_folder
from flambeau.cuda.simulation.memory import DeviceMemory
from flambeau.testing import arrays

#: In which order threads of a block, and blocks, take turns.
ORDERS = ("forward", "reversed", "shuffled")


class KernelError(RuntimeError):
    """A kernel did what a GPU answers with an error, a hang or garbage."""


class Geometry(ctypes.Structure):
    """``fl_geometry`` of launch.h."""

    _fields_ = [("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3),
                ("shared_bytes", ctypes.c_uint32), ("order", ctypes.c_uint32),
                ("seed", ctypes.c_uint64)]


def shimmed(module: source.Module) -> str:
    """A module's text with a launcher for every kernel."""
    launchers = [f"FL_LAUNCHER({name}, {kind})" for name, kind in module.kernels.items()]
    return "\n".join(['#include "cuda.h"', module.text, *launchers, ""])


class SimulatedBackend(GeneratedBackend):
    """Runs generated kernels on the CPU.

    Args:
        folder: where libraries are kept; a folder of this user's cache by default.
        order: one of ``ORDERS``.
        seed: of the shuffled order.
    """

    name = "cudasim"

    def __init__(self, folder: Path | None = None, order: str = "forward", seed: int = 0) -> None:
        self.folder = default_folder() if folder is None else folder
        self.order, self.seed = order, seed
        self.launched: set[str] = set()
        self.memory = DeviceMemory(self.folder)
        self.library = cache(self._library)

    def allocate(self, index, nbytes):
        memory = self.memory.allocate(nbytes)
        return memory.address, np.asarray(memory)

    def copy(self, index, dst, src, nbytes, kind):
        with self._open():
            ctypes.memmove(dst, src, nbytes)

    def strict(self, wanted: bool) -> None:
        """Whether the host is kept from the device's memory, as by a real one."""
        self.memory.library.fl_device_strict(wanted)

    @contextmanager
    def _open(self):
        """Memory that may be touched, as kernels and copies do."""
        self.memory.library.fl_device_open()
        try:
            yield
        finally:
            self.memory.library.fl_device_close()

    def _library(self, group: str, kind: str) -> ctypes.CDLL:
        return build(f"{group}_{kind}", shimmed(source.module(group, kind)), self.folder)

    def launch(self, group, kind, kernel, threads, argument, index):
        self.launched.add(kernel)
        blocks = min(3, (threads + 63) // 64)
        self.run_kernel(self.library(group, kind), kernel, argument, (blocks,), (64,))

    def run_kernel(self, library: ctypes.CDLL, kernel: str, argument: bytes,
                   grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int = 0) -> None:
        """Run one kernel to its end.

        Args:
            library: what ``build`` gave.
            kernel: its name.
            argument: its only parameter, a structure.
            grid: numbers of blocks, up to three.
            block: threads of a block, up to three numbers.
            shared_bytes: of dynamic shared memory.

        Raises:
            KernelError: it touched memory that is not its own, or waits for ever.
        """
        size = getattr(library, f"size_{kernel}")()
        if size != len(argument):
            raise ValueError(f"{kernel} takes {size} bytes of arguments, got {len(argument)}")
        geometry = Geometry(_three(grid), _three(block), shared_bytes, ORDERS.index(self.order),
                            self.seed + 1)
        message = ctypes.create_string_buffer(512)
        with self._open():
            failed = getattr(library, f"launch_{kernel}")(
                argument, ctypes.byref(geometry), message, ctypes.c_size_t(len(message)))
            damaged = self.memory.library.fl_device_damaged()
        if failed:
            raise KernelError(f"{kernel}: {self._located(message.value.decode())}")
        if damaged or self.memory.damaged:
            self.memory.damaged = 0
            raise KernelError(f"{kernel}: wrote past the ends of {max(damaged, 1)} storages")

    def _located(self, text: str) -> str:
        address = re.search(r"address (0x[0-9a-f]+)", text)
        return f"{text} ({self.memory.describe(int(address[1], 16))})" if address else text

    def run_composition(self, op, args, outs):
        with self._open():
            return run_composition(np, arrays.load, arrays.store, op, args, outs)


def _three(sizes: tuple[int, ...]):
    return (ctypes.c_uint32 * 3)(*sizes, *[1] * (3 - len(sizes)))
