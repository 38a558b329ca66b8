"""Tensors in memory that processes share.

The memory is a file without a name, mapped. A process that is forked has the mapping; to others
goes a descriptor of the file (as ``multiprocessing`` sends open files, so the sender must still
run when the receiver unpickles). A process maps each file once.
"""
from __future__ import annotations

import gc
import mmap
import os
import tempfile
from typing import Any
from weakref import WeakValueDictionary, finalize

from flambeau.core import _core


class _Mapping(mmap.mmap):
    """Mapped memory, and the file descriptor by which others find it; closed when it goes."""

    descriptor: int


#: Mappings by the address at which they begin, and by device and inode of their file.
_by_address: WeakValueDictionary[int, _Mapping] = WeakValueDictionary()
_by_file: WeakValueDictionary[tuple[int, int], _Mapping] = WeakValueDictionary()


def _new_file(nbytes: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("flambeau", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, nbytes)
    return descriptor


def _mapped(descriptor: int, nbytes: int) -> _Mapping:
    """The mapping of a file, whose descriptor it owns from now on."""
    status = os.fstat(descriptor)
    key = status.st_dev, status.st_ino
    known = _by_file.get(key)
    if known is not None:
        os.close(descriptor)
        return known
    made = _Mapping(descriptor, nbytes)
    made.descriptor = descriptor
    finalize(made, os.close, descriptor)
    _by_file[key] = made
    return made


def _bytes_of(mapping: _Mapping) -> Any:
    """The memory as a tensor of bytes."""
    flat = _core.over_buffer(mapping, _core._dtype_named("uint8"))
    _by_address[_core.storage_address(flat)] = mapping
    return flat


def is_shared(x: Any) -> bool:
    """Whether other processes can share the memory of ``x``."""
    return x.is_cpu and not x.is_meta and _core.storage_address(x) in _by_address


def share(x: Any) -> None:
    """Move the memory of a tensor, and all tensors over it, to where processes can share it.

    Raises:
        RuntimeError: An array or a compiled function looks at the memory, and would not move
            with it.
    """
    if not move(x):
        raise RuntimeError(
            f"share_memory_(): the memory of this tensor of shape {list(x.shape)} is that of an "
            "array, or an array or a compiled function looks at it, and would keep the old one. "
            "Call it before x.numpy() and before the function is called, or write "
            "x = x.clone().share_memory_()")


def move(x: Any) -> bool:
    """``share``, but false where the memory stays."""
    if not x.is_cpu or x.is_meta or not _core.storage_bytes(x) or is_shared(x):
        return True         # other devices' memory is not the CPU's to share, as in PyTorch
    nbytes = _core.storage_bytes(x)
    mapping = _mapped(_new_file(nbytes), nbytes)
    alone = _core.storage_refcount(x) == 1
    if not _core.move_memory(x, [x] if alone else gc.get_objects(), mapping):
        return False
    _by_address[_core.storage_address(x)] = mapping
    return True


def reduce_shared(storage: Any) -> tuple[Any, ...] | None:
    """What a pickle for another process holds of a storage; None if it is not shared."""
    from multiprocessing.reduction import DupFd

    flat = _core._on_storage(storage, _core._dtype_named("uint8"), (0,), (1,), 0)
    mapping = _by_address.get(_core.storage_address(flat))
    if mapping is None:
        return None
    return attach, (DupFd(mapping.descriptor), len(mapping))


def attach(handle: Any, nbytes: int) -> Any:
    """The storage that another process sent."""
    return _core._storage_of(_bytes_of(_mapped(handle.detach(), nbytes)))
