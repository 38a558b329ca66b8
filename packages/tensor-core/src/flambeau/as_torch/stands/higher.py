"""Branches and loops as functions: `torch.cond`, `torch.while_loop`, which jit records."""
from __future__ import annotations

from typing import Any

from flambeau import rooms


def __getattr__(name: str) -> Any:
    if name not in ("cond", "while_loop"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(rooms.import_module(f"{rooms.PREFIX}jit"), name)
