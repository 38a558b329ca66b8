"""`torch.quantization`, the older name of `torch.ao.quantization`."""
from __future__ import annotations

from typing import Any

from flambeau import rooms


def __getattr__(name: str) -> Any:
    return getattr(rooms.enter("ao").quantization, name)
