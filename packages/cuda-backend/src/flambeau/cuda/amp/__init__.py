"""Mixed precision under the names of PyTorch's older programs: ``flambeau.cuda.amp.autocast()``."""
from __future__ import annotations

from typing import Any

import flambeau


def autocast(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> Any:
    """``flambeau.autocast("cuda", ...)``; that needs flambeau-autograd."""
    dtype = flambeau.float16 if dtype is None else dtype
    return flambeau.autocast("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def __getattr__(name: str) -> Any:
    if name != "GradScaler":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    made = globals()[name] = _scaler()
    return made


def _scaler() -> type:
    """The class of ``flambeau.amp.GradScaler("cuda", ...)``; that needs flambeau-optim."""
    base: Any = flambeau.amp.GradScaler

    class GradScaler(base):
        """``flambeau.amp.GradScaler`` for CUDA, under its older name, which programs derive from.

        Args:
            args: Those of ``flambeau.amp.GradScaler`` after the device.
            options: The same by name.
        """

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__("cuda", *args, **options)

    GradScaler.__qualname__ = "GradScaler"
    return GradScaler


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """``flambeau.amp.custom_fwd`` for CUDA; that needs flambeau-autograd."""
    return flambeau.amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """``flambeau.amp.custom_bwd`` for CUDA; that needs flambeau-autograd."""
    return flambeau.amp.custom_bwd(bwd, device_type="cuda")


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU for mixed precision."""
    from flambeau.cuda import is_available

    return not is_available()
