"""The GPU, if there is one, by whatever name: ``flambeau.accelerator.current_accelerator()``."""
from __future__ import annotations

from typing import Any

from flambeau import rooms
from flambeau.core import device

__all__ = ["current_accelerator", "current_device_index", "device_count", "is_available",
           "set_device_index", "synchronize"]


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
