"""Mixed precision turned on and off by calls, as libraries do that cannot write a block."""
from __future__ import annotations

import threading
from typing import Any

from flambeau import rooms

_autocast: Any = rooms.import_module(f"{rooms.PREFIX}autograd._autocast")


class _Opened(threading.local):
    """The blocks that calls have opened in this thread, by device type, the innermost last."""

    def __init__(self) -> None:
        self.blocks: dict[str, list[Any]] = {}


_opened = _Opened()


def _change(device_type: str, **changes: Any) -> None:
    """Run with other settings from here on, until they are changed again.

    The block of an earlier call is closed if it is the innermost. Where the settings are then
    those of the block around, none is opened, so that a library that restores what it found
    leaves nothing open.
    """
    settings = _settings(device_type) | changes
    own = _opened.blocks.setdefault(device_type, [])
    if own and own[-1]._open[-1] is _autocast._innermost(device_type):
        own.pop().__exit__(None, None, None)
    if settings != _settings(device_type):
        own.append(_autocast.autocast(device_type, **settings).__enter__())


def _settings(device_type: str) -> dict[str, Any]:
    block = _autocast._innermost(device_type)
    return {"enabled": _autocast.is_autocast_enabled(device_type),
            "dtype": _autocast.get_autocast_dtype(device_type),
            "cache_enabled": True if block is None else block.cache_enabled}


def set_autocast_enabled(*given: Any) -> None:
    """Turn casts on or off: ``(enabled)`` for CUDA, or ``(device_type, enabled)``."""
    *device_type, enabled = given
    _change(*(device_type or ["cuda"]), enabled=bool(enabled))


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Choose the lower precision."""
    _change(device_type, dtype=dtype)


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Cast each parameter once, or at each use, where casts are on."""
    for device_type in ("cpu", "cuda"):
        if _autocast._innermost(device_type) is not None:
            _change(device_type, cache_enabled=bool(enabled))


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """``set_autocast_enabled("cpu", enabled)`` under its older name."""
    _change("cpu", enabled=bool(enabled))


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """``set_autocast_dtype("cpu", dtype)`` under its older name."""
    _change("cpu", dtype=dtype)


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """``set_autocast_dtype("cuda", dtype)`` under its older name."""
    _change("cuda", dtype=dtype)


def autocast_increment_nesting() -> int:
    """Nothing: blocks are counted as they are entered."""
    return 1


def autocast_decrement_nesting() -> int:
    """Nothing, as `autocast_increment_nesting`: the outermost block is told by itself."""
    return 0
