"""How much was copied between a device and the host."""
from __future__ import annotations

from typing import Any

from flambeau.core import backends
from flambeau.cuda import _launch


def copied(device: str) -> dict[str, int]:
    """Copies to the host and to the device so far, and their bytes."""
    backend: Any = backends.adapter(device)
    return _launch.copies(backend.device_type)
