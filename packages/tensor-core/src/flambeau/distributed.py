"""What programs ask before they train on several machines: nothing of the kind is available."""
from __future__ import annotations

from flambeau.core.compat.modules import fill

__all__ = list(fill(__name__))


def __getattr__(name: str) -> object:
    hint = "" if name.startswith("__") else (
        "; one process uses all cores, there is no training on several machines")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
