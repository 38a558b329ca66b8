"""Flambeau on NVIDIA GPUs: ``x.to("cuda")``.

Importing needs neither CuPy nor a GPU; what is missing is said when a GPU is asked for.
"""
from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import flambeau
from flambeau.core.once import first_use
from flambeau.cuda import amp
from flambeau.cuda.cupy_module import cupy, why_unavailable

if TYPE_CHECKING:
    from flambeau.cuda.cupy_backend import CuPyBackend

__all__ = ["OutOfMemoryError", "amp", "backend", "current_device", "device_count", "empty_cache",
           "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state",
           "get_rng_state_all", "init", "initial_seed", "ipc_collect", "is_available",
           "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all",
           "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated",
           "memory_reserved", "reset_max_memory_allocated", "reset_peak_memory_stats", "seed",
           "seed_all", "set_device", "set_rng_state", "set_rng_state_all", "synchronize",
           "why_unavailable"]

OutOfMemoryError = MemoryError  # CuPy's error of this name is one

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

        with first_use:
            _backend = _backend or CuPyBackend()
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


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """Its ``name``, ``major`` and ``minor``, ``total_memory`` and ``multi_processor_count``."""
    found = cupy().cuda.runtime.getDeviceProperties(_index(device))
    return SimpleNamespace(name=found["name"].decode(), major=found["major"],
                           minor=found["minor"], total_memory=found["totalGlobalMem"],
                           multi_processor_count=found["multiProcessorCount"])


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU is there that computes in bfloat16."""
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def is_initialized() -> bool:
    """Whether a GPU has been used."""
    return _backend is not None


def init() -> None:
    """Find the GPU now and not at its first use."""
    backend()


def ipc_collect() -> None:
    """Do nothing: no memory is shared between processes."""


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a GPU."""
    with cupy().cuda.Device(_index(device)):
        free, total = cupy().cuda.runtime.memGetInfo()
    return int(free), int(total)


def _index(device: Any) -> int:
    """Number of a GPU; the current one for None."""
    if device is None:
        return current_device()
    return device if isinstance(device, int) else flambeau.device(device).index or 0


def synchronize(device: int | None = None) -> None:
    """Wait until everything asked of a GPU is done."""
    cupy().cuda.Device(device).synchronize()


def _statistics(device: Any) -> dict[str, int]:
    """Bytes that tensors use of a GPU and that are reserved for them, and their peaks."""
    if _backend is None:
        return dict.fromkeys(("allocated", "reserved", "most_allocated", "most_reserved"), 0)
    from flambeau.cuda import _launch

    return _launch.statistics(_backend.device_type, _index(device))


def memory_allocated(device: Any = None) -> int:
    """Bytes in use by tensors of a GPU; 0 where there is none."""
    return _statistics(device)["allocated"]


def memory_reserved(device: Any = None) -> int:
    """Bytes of a GPU that tensors use or that are kept for them; 0 where there is none."""
    return _statistics(device)["reserved"]


def max_memory_allocated(device: Any = None) -> int:
    """At most how many bytes tensors used since ``reset_peak_memory_stats``."""
    return _statistics(device)["most_allocated"]


def max_memory_reserved(device: Any = None) -> int:
    """At most how many bytes were reserved since ``reset_peak_memory_stats``."""
    return _statistics(device)["most_reserved"]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks begin anew at what is in use now."""
    if _backend is not None:
        from flambeau.cuda import _launch

        _launch.reset_peaks(_backend.device_type, _index(device))


reset_max_memory_allocated = reset_peak_memory_stats


def empty_cache() -> None:
    """Give memory kept for reuse back to the driver. Does nothing where there is no GPU.

    Example:
        >>> import flambeau.cuda
        >>> flambeau.cuda.empty_cache()
    """
    if _backend is not None:
        from flambeau.cuda import _launch

        for index in range(device_count()):
            _launch.trim(_backend.device_type, index)
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


def seed() -> None:
    """Seed with a number that differs each time. Does nothing where there is no GPU."""
    if is_available():
        flambeau.seed()


seed_all = seed


def initial_seed() -> int:
    """What the generator was seeded with."""
    return int(flambeau.initial_seed())


def get_rng_state(device: Any = "cuda") -> Any:
    """State of the generator, which GPUs and the CPU share."""
    return flambeau.get_rng_state()


def get_rng_state_all() -> list[Any]:
    """The state of the generator once for each GPU."""
    return [flambeau.get_rng_state() for _ in range(device_count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Put a state of the generator back."""
    flambeau.set_rng_state(new_state)


def set_rng_state_all(new_states: Any) -> None:
    """Put states back; they are one and the same."""
    for state in new_states:
        flambeau.set_rng_state(state)
