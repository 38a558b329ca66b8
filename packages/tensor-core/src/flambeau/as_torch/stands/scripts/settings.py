"""Settings of PyTorch's compiler of scripts, which are accepted: none is at work here."""
from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

_state: dict[str, Any] = {"fusion": [("STATIC", 2), ("DYNAMIC", 10)], "onednn": False}


class strict_fusion(contextlib.nullcontext[None]):
    """Nothing: which operators are fused is not checked."""


def optimized_execution(should_optimize: bool) -> contextlib.AbstractContextManager[None]:
    """A block in which nothing is different.

    Args:
        should_optimize: Accepted for compatibility.
    """
    return contextlib.nullcontext()


def fuser(name: str) -> contextlib.AbstractContextManager[None]:
    """A block in which nothing is different.

    Args:
        name: Of a fuser of PyTorch's: `fuser0` to `fuser3`.

    Raises:
        ValueError: PyTorch has none of that name.
    """
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3", "none"):
        raise ValueError(f"torch.jit.fuser({name!r}): write fuser0, fuser1, fuser2 or fuser3")
    return contextlib.nullcontext()


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Remember a strategy, and give the one before.

    Args:
        strategy: Pairs of `"STATIC"` or `"DYNAMIC"` and a number.
    """
    before: list[tuple[str, int]] = _state["fusion"]
    _state["fusion"] = list(strategy)
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Remember whether oneDNN was asked for, which is not used.

    Args:
        enabled: That.
    """
    _state["onednn"] = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """What `enable_onednn_fusion` was told."""
    return bool(_state["onednn"])


class TracerWarning(Warning):
    """A trace would not do what the function does."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing: this library's modules give none."""


class TracingCheckError(Exception):
    """A trace that does not do what the function does; here such a trace is not used."""
