"""The GPU, if there is one, by whatever name: ``flambeau.accelerator.current_accelerator()``."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flambeau import rooms
from flambeau.core import device

_MEMORY = ("empty_cache", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
           "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
           "reset_peak_memory_stats")
__all__ = [  # noqa: PLE0604
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream",
    "device_count", "device_index", "empty_host_cache", "get_device_capability",
    "get_memory_info", "is_available", "set_device_idx", "set_device_index", "set_stream",
    "synchronize", *_MEMORY]


def is_available() -> bool:
    """Whether there is a GPU that tensors can live on.

    Example:
        >>> import flambeau
        >>> flambeau.accelerator.is_available() == flambeau.cuda.is_available()
        True
    """
    return bool(rooms.gpu().is_available())


def current_accelerator(check_available: bool = False) -> device | None:
    """The device type of the GPU; None where there is none.

    Args:
        check_available: Accepted for compatibility: it is always checked.
    """
    return device("cuda") if is_available() else None


def device_count() -> int:
    """How many GPUs there are."""
    return int(rooms.gpu().device_count())


def current_device_index() -> int:
    """Number of the current GPU."""
    return int(rooms.gpu().current_device())


def set_device_index(device: Any, /) -> None:
    """Make a GPU the current one.

    Args:
        device: Its number, or a device.
    """
    rooms.gpu().set_device(device)


def synchronize(device: Any = None, /) -> None:
    """Wait until everything asked of a GPU is done.

    Args:
        device: Its number; the current one when left out.
    """
    rooms.gpu().synchronize(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


@contextmanager
def device_index(device: int | None, /) -> Iterator[None]:
    """Make a GPU the current one in the body.

    Args:
        device: Its number; None changes nothing.
    """
    if device is None:
        yield
        return
    with rooms.gpu().device(device):
        yield


def current_stream(device: Any = None, /) -> Any:
    """The stream that this thread works on, of the current GPU or another.

    Args:
        device: Its number, or a device.
    """
    return rooms.gpu().current_stream(device)


def set_stream(stream: Any) -> None:
    """Let this thread work on a stream from here on.

    Args:
        stream: A ``flambeau.Stream``.
    """
    rooms.gpu().set_stream(stream)


def get_memory_info(device: Any = None, /) -> tuple[int, int]:
    """Free and total bytes of a GPU.

    Args:
        device: Its number; the current one when left out.
    """
    free, total = rooms.gpu().mem_get_info(device)
    return int(free), int(total)


def empty_host_cache() -> None:
    """Do nothing: pinned memory is not kept for reuse."""


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """Which dtypes tensors of a GPU may have: ``{"supported_dtypes": {...}}``.

    Args:
        device: Its number; the current one when left out.
    """
    from flambeau.core.dtypes import dtypes

    rooms.gpu().get_device_properties(device)       # raises where there is none
    return {"supported_dtypes": set(dtypes.values())}


def __getattr__(name: str) -> Any:
    if name == "memory":
        import sys

        return sys.modules[__name__]
    if name in _MEMORY:
        return getattr(rooms.gpu(), name)
    if name == "Graph":
        return rooms.gpu().CUDAGraph
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
