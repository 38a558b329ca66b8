"""`torch.distributed._tensor.placement_types`, in earlier versions."""
from __future__ import annotations

from typing import Any

from flambeau import rooms

_home = rooms.import_module(f"{rooms.PREFIX}distributed.tensor.placement_types")


def __getattr__(name: str) -> Any:
    return getattr(_home, name)
