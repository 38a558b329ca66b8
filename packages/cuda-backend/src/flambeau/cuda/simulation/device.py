"""The simulated device: its launches and copies."""
from __future__ import annotations

import ctypes
import re
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from flambeau.cuda import _launch, errors, pinned, source
from flambeau.cuda.arrays.compositions import is_composition, run_composition
from flambeau.cuda.generated import GeneratedBackend
from flambeau.cuda.simulation.building import build, default_folder
from flambeau.cuda.simulation.memory import HOST_FUNCTION, DeviceMemory
from flambeau.testing import arrays

#: In which order threads of a block, and blocks, take turns.
ORDERS = ("forward", "reversed", "shuffled")


class KernelError(RuntimeError):
    """A kernel did what a GPU answers with an error, a hang or garbage."""


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
        count: how many devices there are.
    """

    name = "cudasim"
    exact = True
    #: What each device is said to have, and where ``reserve`` raises.
    total_memory = 1 << 34

    def __init__(self, folder: Path | None = None, order: str = "forward", seed: int = 0,
                 count: int = 2) -> None:
        self.count, self._until_failure = count, -1
        self.folder = default_folder() if folder is None else folder
        self.memory = DeviceMemory(self.folder)
        self.library = cache(self._library)
        self._addresses = cache(self._function)
        self._captured: list[Any] = []
        self.set_order(order, seed)

    def set_order(self, order: str, seed: int = 0) -> None:
        """In which order threads and blocks of the kernels that follow run."""
        self.order, self.seed = order, seed
        self.memory.library.fl_set_order(ORDERS.index(order), seed)

    def driver(self):
        return self.memory.library.fl_simulated_driver()

    def device_count(self):
        return self.count

    def reserve(self, index, nbytes):
        self._until_failure -= 1
        used = _launch.statistics(self.device_type, index)["reserved"]
        if self._until_failure == 0 or used + nbytes > self.total_memory:
            raise MemoryError(f"device '{self.name}:{index}' has no memory for {nbytes} bytes")
        stream = _launch.stream(self.device_type, index)
        memory = self.memory.allocate(nbytes, index, stream)
        return memory.address, memory

    def pinned(self, nbytes):
        return pinned.allocate(self.device_type, nbytes)

    def memory_info(self, index):
        used = _launch.statistics(self.device_type, index)["reserved"]
        return self.total_memory - used, self.total_memory

    def properties(self, index):
        return {"name": "simulation of a GPU by g++", "major": 8, "minor": 0,
                "total_memory": self.total_memory, "multi_processor_count": 1,
                "warp_size": 32, "max_threads_per_block": 1024, "uuid": f"simulation-{index}"}

    def fail_after(self, requests: int) -> None:
        """Let the request of that number from now on, 1 for the next, find no memory; 0: none."""
        self._until_failure = requests or -1

    def late(self, wanted: bool) -> None:
        """Whether work waits in its stream until somebody waits for it.

        What no event orders is then done out of order: a missing one shows in the numbers.
        """
        self.memory.library.fl_set_late(wanted)

    def lose(self, status: int = 719) -> None:
        """Let every call fail from here on, as a device does that is lost; 0 finds it again."""
        self.memory.library.fl_lose_device(status)

    def waiting(self, index: int = 0, stream: int = 0) -> int:
        """How much a stream was asked that is not done."""
        return self.memory.library.fl_works_of(index, stream)

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

    def function(self, group, kind, kernel):
        return self._addresses(group, kind, kernel)

    def _function(self, group: str, kind: str, kernel: str) -> int:
        return _address(self.library(group, kind), kernel)

    def launches(self, group: str = "", kind: str = "", kernel: str = "") -> int:
        """How often a kernel ran in this process; all of them where none is named."""
        function = self.function(group, kind, kernel) if kernel else None
        return self.memory.library.fl_launches_of(function)

    def raise_status(self, status, what, text):
        if status in errors.LOST:
            super().raise_status(status, what, text)
        address = re.search(r"address (0x[0-9a-f]+)", text)
        if address:
            text = f"{text} ({self.memory.describe(int(address[1], 16))})"
        raise KernelError(f"{what}: {text}" + (
            f"; asked for at {errors.caller()}" if errors.is_blocking() else ""))

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
            KernelError: it touched memory that is not its own, or would not end.
        """
        size = getattr(library, f"size_{kernel}")()
        if size != len(argument):
            raise ValueError(f"{kernel} takes {size} bytes of arguments, got {len(argument)}")
        status = self.memory.library.fl_run_kernel(
            _address(library, kernel), _three(grid), _three(block), shared_bytes, argument, size)
        if status:
            self.raise_status(status, kernel, self.memory.library.fl_last_error().decode())

    def run_composition(self, op, args, outs):
        index = outs[0].device.index or 0
        stream = _launch.stream(self.device_type, index)
        if self.memory.library.fl_is_capturing(index, stream):
            return self._capture(op, args, outs, index, stream)
        _launch.stream_done(self.device_type, index, stream, 1)
        with self._open():
            return run_composition(np, arrays.load, arrays.store, op, args, outs)

    def _capture(self, op, args, outs, index: int, stream: int):
        """Let a graph compute it each time; libraries' work is part of graphs on a GPU as well.

        What it is called with stays, as the graph's memory does.
        """
        if not is_composition(op):
            return NotImplemented

        def compute() -> int:
            with self._open():
                run_composition(np, arrays.load, arrays.store, op, args, outs)
            return 0

        self._captured.append(HOST_FUNCTION(compute))
        status = self.memory.library.fl_ask_host(index, stream, self._captured[-1])
        if status:
            self.raise_status(status, op.key, self.memory.library.fl_last_error().decode())
        return None


def _three(sizes: tuple[int, ...]):
    return (ctypes.c_uint32 * 3)(*sizes, *[1] * (3 - len(sizes)))


def _address(library: ctypes.CDLL, kernel: str) -> int:
    return ctypes.cast(getattr(library, f"launch_{kernel}"), ctypes.c_void_p).value or 0
