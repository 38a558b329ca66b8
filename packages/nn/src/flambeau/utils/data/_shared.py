"""Handing batches from one process to another through shared memory.

A batch lies in a slot: memory without a name that both processes have mapped. A file that nobody
can name is gone with the last process that has it, however those end, so nothing can leak. What
is pickled is the structure around the numbers. The reader's tensors lie in the slot itself; when
the last of them is gone, the writer may use the slot again.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import os
import pickle
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core import dtypes, over_buffer

_ALIGN = 64
_SMALL = 1 << 16  # a batch of so few bytes is copied, which is faster than keeping count of it
_context = threading.local()


def make_file(size: int) -> int:
    """A file in memory that has no name; returns its descriptor."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("flambeau-data", os.MFD_CLOEXEC)
    else:
        handle, name = tempfile.mkstemp(prefix="flambeau-data-")
        os.unlink(name)
    os.ftruncate(handle, size)
    return handle


def map_file(handle: int, size: int) -> mmap.mmap:
    """The file's memory; where Python can, without keeping its descriptor."""
    options: Any = {"trackfd": False} if sys.version_info >= (3, 13) else {}
    return mmap.mmap(handle, size, **options)


# ---- writing ---------------------------------------------------------------------------


class Packed:
    """A batch taken apart: a pickle of its structure, and the arrays that belong beside it.

    Args:
        batch: Anything; tensors and NumPy arrays inside become references.
    """

    def __init__(self, batch: Any) -> None:
        self._arrays: list[tuple[int, Tensor]] = []
        self.size = 0
        stream = io.BytesIO()
        _Pickler(stream, self._add).dump(batch)
        self.structure = stream.getvalue()

    def _add(self, array: Tensor) -> int:
        offset = self.size
        self._arrays.append((offset, array))
        self.size += -(-array.numel() * array.dtype.itemsize // _ALIGN) * _ALIGN
        return offset

    def write(self, slot: mmap.mmap) -> None:
        """Copy the arrays into a slot."""
        for offset, array in self._arrays:
            if array.numel():
                flat = flambeau.frombuffer(
                    slot, dtype=array.dtype, count=array.numel(), offset=offset
                )
                flat.view(array.shape).copy_(array)


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, add: Callable[[Tensor], int]) -> None:
        super().__init__(stream, protocol=5)
        self._add = add

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is Tensor and obj.device.type == "cpu":
            array = obj.detach()
            offset = self._add(array)
            needs_grad = obj.requires_grad and obj.is_leaf
            return _tensor_at, (offset, obj.dtype.name, tuple(array.shape), needs_grad)
        if type(obj).__module__ == "numpy" and _is_plain(obj):
            flat = sys.modules["numpy"].ascontiguousarray(obj).reshape(-1).view("u1")
            array = over_buffer(flat, flambeau.uint8)
            return _array_at, (self._add(array), obj.dtype.str, obj.nbytes, obj.shape)
        return NotImplemented


def _is_plain(array: Any) -> bool:
    """Whether a NumPy object is an array of numbers."""
    return type(array).__name__ == "ndarray" and array.dtype.kind in "biufc" and array.nbytes > 0


# ---- reading ---------------------------------------------------------------------------


def _tensor_at(offset: int, dtype: str, shape: tuple[int, ...], requires_grad: bool) -> Tensor:
    """A tensor over the slot that is being read."""
    count = 1
    for size in shape:
        count *= size
    kind = dtypes[dtype]
    if not count:
        made = flambeau.empty(shape, dtype=kind)
    else:
        flat = flambeau.frombuffer(_context.memory, dtype=kind, count=count, offset=offset)
        made = flat.view(shape)
        if _context.copy:
            made = made.clone()
    return made.requires_grad_() if requires_grad else made


def _array_at(offset: int, dtype: str, size: int, shape: tuple[int, ...]) -> Any:
    """A NumPy array over the slot that is being read."""
    import numpy

    memory = _context.memory[offset : offset + size]
    made = numpy.frombuffer(memory, dtype=dtype).reshape(shape)
    return made.copy() if _context.copy else made


class Slot:
    """Shared memory as the reader sees it.

    Args:
        handle: The file; closed here, the mapping stays.
        size: Its bytes.
    """

    def __init__(self, handle: int, size: int) -> None:
        self._memory = map_file(handle, size)
        self._kind = ctypes.c_char * size
        self._lease: Any = None
        os.close(handle)

    def read(self, structure: bytes, used: int, may_keep: bool, release: Callable[[], None]) -> Any:
        """The batch; ``release`` is called once the slot is free again, maybe at once.

        Args:
            structure: The pickle that came with it.
            used: How many bytes of the slot the batch takes.
            may_keep: Whether tensors may lie in the slot itself.
            release: What to call.
        """
        lease = self._kind.from_buffer(self._memory)
        _context.memory = memoryview(lease).cast("B")
        _context.copy = used <= _SMALL or not may_keep
        copied = _context.copy
        try:
            batch = pickle.loads(structure)
        finally:
            del _context.memory
        if copied:
            release()
        else:
            self._lease = weakref.ref(lease, lambda _: release())
        return batch
