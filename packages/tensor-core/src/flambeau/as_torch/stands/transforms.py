"""What `torch.func` has, under the names that it had before."""
from __future__ import annotations

from typing import Any

from flambeau import rooms


def _as_tuple(val: Any) -> tuple[Any, ...]:
    """A tuple as it is, anything else as the only item of one."""
    return val if isinstance(val, tuple) else (val,)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(rooms.import_module(f"{rooms.PREFIX}func"), name)
