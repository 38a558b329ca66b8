"""`torch.distributed._composable.fsdp.fully_shard`, in earlier versions."""
from __future__ import annotations

from typing import Any

from flambeau import rooms

_home = rooms.enter("distributed.fsdp")


def __getattr__(name: str) -> Any:
    return getattr(_home, name)
