"""Numbers of devices, as libraries ask for them."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import rooms


def _get_accelerator() -> flambeau.device:
    """The device type of the GPU; the CPU where there is none."""
    return flambeau.accelerator.current_accelerator() or flambeau.device("cpu")


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device.

    Args:
        device: A device, its name, a number, or None.
        optional: Whether a device without a number is the current one.
        allow_cpu: Whether the CPU has a number, -1.

    Raises:
        ValueError: The device has no number.
    """
    found = flambeau.device(device) if isinstance(device, str) else device
    if isinstance(found, flambeau.device):
        if found.type == "cpu":
            if allow_cpu:
                return -1
            raise ValueError(f"Expected a non cpu device, but got: {found}")
        found = found.index
    if isinstance(found, int):
        return found
    if optional:
        return int(rooms.gpu().current_device())
    raise ValueError("Expected a device with a specified index or an integer, but got: "
                     f"{device}")


def _get_available_device_type() -> str | None:
    """The type of the accelerator that is there; None without one."""
    found = flambeau.accelerator.current_accelerator(check_available=True)
    return None if found is None else found.type
