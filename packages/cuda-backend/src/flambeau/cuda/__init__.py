"""Flambeau on NVIDIA GPUs: ``x.to("cuda")``.

Importing needs neither CuPy nor a GPU; what is missing is said when a GPU is asked for.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import flambeau
from flambeau.cuda import amp
from flambeau.cuda.cupy_module import cupy, why_unavailable

if TYPE_CHECKING:
    from flambeau.cuda.cupy_backend import CuPyBackend

__all__ = ["amp", "backend", "current_device", "device_count", "empty_cache",
           "get_device_capability", "get_device_name", "is_available", "manual_seed",
           "manual_seed_all", "memory_allocated", "memory_reserved", "set_device", "synchronize",
           "why_unavailable"]

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


def set_device(device: int | str) -> None:
    """Make a GPU the current one.

    Args:
        device: Its number, or a device such as ``"cuda:1"``.
    """
    index = device if isinstance(device, int) else flambeau.device(device).index or 0
    cupy().cuda.Device(index).use()


def get_device_capability(device: int | None = None) -> tuple[int, int]:
    """Compute capability of a GPU, such as ``(9, 0)``."""
    digits = cupy().cuda.Device(device).compute_capability
    return int(digits[:-1]), int(digits[-1])


def get_device_name(device: int | None = None) -> str:
    """Name of a GPU."""
    index = current_device() if device is None else device
    return cupy().cuda.runtime.getDeviceProperties(index)["name"].decode()


def synchronize(device: int | None = None) -> None:
    """Wait until everything asked of a GPU is done."""
    cupy().cuda.Device(device).synchronize()


def memory_allocated() -> int:
    """Bytes in use by tensors of the current GPU; 0 where there is none."""
    return cupy().get_default_memory_pool().used_bytes() if is_available() else 0


def memory_reserved() -> int:
    """Bytes that the memory pool of the current GPU holds; 0 where there is none."""
    return cupy().get_default_memory_pool().total_bytes() if is_available() else 0


def empty_cache() -> None:
    """Give memory kept for reuse back to the driver. Does nothing where there is no GPU.

    Example:
        >>> import flambeau.cuda
        >>> flambeau.cuda.empty_cache()
    """
    if is_available():
        cupy().get_default_memory_pool().free_all_blocks()


def manual_seed(seed: int) -> None:
    """Seed the random numbers of GPUs, which draw from the same generator as the CPU.

    Does nothing where there is no GPU, so that programs for both give the same numbers on a CPU.

    Args:
        seed: As for ``flambeau.manual_seed``.

    Example:
        >>> import flambeau.cuda
        >>> flambeau.cuda.manual_seed(0)
    """
    if is_available():
        flambeau.manual_seed(seed)


manual_seed_all = manual_seed  # there is one generator for all of them
