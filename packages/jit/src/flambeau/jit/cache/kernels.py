"""Machine code by key: what this process has, what the disk has, or what is compiled now."""

from __future__ import annotations

import marshal
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from flambeau.core._core import MachineCode
from flambeau.jit.cache.disk import Disk, directory
from flambeau.jit.cache.stamp import name_of

CACHE_SIZE = 512


class Image(NamedTuple):
    """Machine code that runs wherever it lies; see ``MachineCode``."""

    code: bytes
    entry: int
    imports: tuple[tuple[int, str], ...]


class Kernel:
    """A function of machine code, alive as long as this object.

    Args:
        name: of its file on disk.
        code: has its ``address``.
    """

    def __init__(self, name: str, code: Any) -> None:
        self.name = name
        self.code = code
        self.address: int = code.address


class KernelCache:
    """The functions used last.

    Args:
        size: how many are kept in memory.
        disk: where others are.
    """

    def __init__(self, size: int = CACHE_SIZE, disk: Disk | None = None) -> None:
        self.size = size
        self.disk = disk or Disk(directory())
        self._kernels: OrderedDict[str, Kernel] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kernels)

    def get(self, key: object, text: Callable[[], str]) -> Kernel:
        """The function for a key, compiled from ``text()`` when it is nowhere.

        Args:
            key: its ``repr`` says all that ``text`` depends on, but for the machine.
            text: LLVM assembly.
        """
        name = name_of("kernel", repr(key).encode())
        with self._lock:
            return self._find(name) or self._keep(self._compile(name, text()))

    def named(self, name: str) -> Kernel | None:
        """The function whose file has this name, ``None`` where it is neither here nor there."""
        with self._lock:
            return self._find(name)

    def clear(self) -> None:
        """Forget what is in memory; loops that were planned keep their code."""
        with self._lock:
            self._kernels.clear()

    def _find(self, name: str) -> Kernel | None:
        found = self._kernels.get(name)
        if found is not None:
            self._kernels.move_to_end(name)
            return found
        content = self.disk.get(name)
        return None if content is None else self._keep(Kernel(name, load(content)))

    def _keep(self, kernel: Kernel) -> Kernel:
        self._kernels[kernel.name] = kernel
        while len(self._kernels) > self.size:
            self._kernels.popitem(last=False)
        return kernel

    def _compile(self, name: str, text: str) -> Kernel:
        from flambeau.jit.llvm.engine import Engine, compile_image

        image = compile_image(text)
        if image is None:
            return Kernel(name, Engine(text))
        self.disk.put(name, marshal.dumps(tuple(image)))
        return Kernel(name, MachineCode(*image))


def load(content: bytes) -> MachineCode:
    """A function from what a file holds."""
    return MachineCode(*marshal.loads(content))


KERNELS = KernelCache()
