"""Mixed precision under the names of PyTorch's older programs: ``flambeau.cpu.amp.autocast()``."""
from __future__ import annotations

from typing import Any

import flambeau


def autocast(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> Any:
    """``flambeau.autocast("cpu", ...)``; that needs flambeau-autograd."""
    dtype = flambeau.bfloat16 if dtype is None else dtype
    return flambeau.autocast("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def GradScaler(*args: Any, **options: Any) -> Any:
    """``flambeau.amp.GradScaler("cpu", ...)``; that needs flambeau-optim."""
    return flambeau.amp.GradScaler("cpu", *args, **options)
