"""What programs ask before they train on several machines: nothing of the kind is available."""
from __future__ import annotations

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """Whether processes can be coupled: False."""
    return False


def is_initialized() -> bool:
    """Whether processes are coupled: False."""
    return False


def __getattr__(name: str) -> object:
    hint = "" if name.startswith("__") else (
        "; one process uses all cores, there is no training on several machines")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
