"""Flambeau on NVIDIA GPUs: ``x.to("cuda")``.

Importing needs neither CuPy nor a GPU; what is missing is said when a GPU is asked for.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau.cuda.cupy_module import cupy, why_unavailable

if TYPE_CHECKING:
    from flambeau.cuda.cupy_backend import CuPyBackend

__all__ = ["backend", "current_device", "device_count", "empty_cache", "get_device_name",
           "is_available", "memory_allocated", "memory_reserved", "synchronize", "why_unavailable"]

_backend: CuPyBackend | None = None


def backend() -> CuPyBackend:
    """The backend of device type ``cuda``; the entry point that the core loads.

    Raises:
        RuntimeError: CuPy, the driver or a GPU is missing; the text says which.
    """
    global _backend
    cupy()
    if _backend is None:
        from flambeau.cuda.cupy_backend import CuPyBackend

        _backend = CuPyBackend()
    return _backend


def is_available() -> bool:
    """Whether tensors can live on a GPU here.

    Example:
        >>> import flambeau.cuda
        >>> flambeau.cuda.is_available() in (True, False)
        True
    """
    return why_unavailable() is None


def device_count() -> int:
    """How many GPUs there are; 0 where none can be used."""
    return cupy().cuda.runtime.getDeviceCount() if is_available() else 0


def current_device() -> int:
    """Number of the current GPU."""
    return cupy().cuda.Device().id


def get_device_name(device: int | None = None) -> str:
    """Name of a GPU."""
    index = current_device() if device is None else device
    return cupy().cuda.runtime.getDeviceProperties(index)["name"].decode()


def synchronize(device: int | None = None) -> None:
    """Wait until everything asked of a GPU is done."""
    cupy().cuda.Device(device).synchronize()


def memory_allocated() -> int:
    """Bytes in use by tensors of the current GPU."""
    return cupy().get_default_memory_pool().used_bytes()


def memory_reserved() -> int:
    """Bytes that the memory pool of the current GPU holds, in use or kept for reuse."""
    return cupy().get_default_memory_pool().total_bytes()


def empty_cache() -> None:
    """Give memory kept for reuse back to the driver."""
    cupy().get_default_memory_pool().free_all_blocks()
