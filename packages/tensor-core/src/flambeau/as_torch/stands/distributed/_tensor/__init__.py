"""`torch.distributed._tensor`: shared tensors, in earlier versions."""
from __future__ import annotations

from typing import Any

from flambeau import rooms

_home = rooms.enter("distributed.tensor")


def __getattr__(name: str) -> Any:
    return getattr(_home, name)
