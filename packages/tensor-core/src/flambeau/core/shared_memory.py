"""Tensors in memory that processes share.

The memory is a file without a name, mapped. A process that is forked has the mapping; to others
goes a descriptor of the file (as ``multiprocessing`` sends open files, so the sender must still
run when the receiver unpickles). A process maps each file once.
"""
from __future__ import annotations

import mmap
import os
import sys
import tempfile
from typing import Any
from weakref import WeakValueDictionary, finalize

from flambeau.core import _core
from flambeau.core.composites import tensor_queries

_OWN_REFERENCES = 3     # to the base of a view: the view's, a name, the argument of getrefcount


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


def can_move(x: Any) -> bool:
    """Whether nothing but ``x`` looks at its memory, or a base that only ``x`` knows."""
    staying = tensor_queries.count_aliases_that_stay(x) + _is_held_by_view(x)
    return _core.storage_refcount(x) - staying == 1 and _core.is_private(x)


def _is_held_by_view(x: Any) -> bool:
    """Whether nobody but ``x`` holds what it is a view of: ``arange(6).view(2, 3)``."""
    base = x._base if x.is_leaf else None       # else its history is found by the base
    return base is not None and sys.getrefcount(base) == _OWN_REFERENCES


def share(x: Any) -> None:
    """Move the memory of a tensor to where processes can share it.

    Raises:
        RuntimeError: Another tensor or an array shares the memory, and would not move with it.
    """
    if is_shared(x) or x.is_meta or not _core.storage_bytes(x):
        return
    if not x.is_cpu:
        return      # other devices' memory is not the CPU's to share, as in PyTorch
    if not can_move(x):
        raise RuntimeError(
            f"share_memory_(): a view of this tensor of shape {list(x.shape)}, a storage or an "
            "array has the same memory, and would keep the old one. Call it before making views "
            "(also before x.numpy()), or write x = x.clone().share_memory_()")
    nbytes = _core.storage_bytes(x)
    flat = _bytes_of(_mapped(_new_file(nbytes), nbytes))
    old = x.detach()
    source = _core._on_storage(_core._storage_of(old), flat.dtype, (nbytes,), (1,), 0)
    flat.copy_(source)
    _core._count_on(flat, x)
    moved = _core._on_storage(_core._storage_of(flat), x.dtype, tuple(x.shape), tuple(x.stride()),
                              _core._place_in_storage(old))
    x.data = moved


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
