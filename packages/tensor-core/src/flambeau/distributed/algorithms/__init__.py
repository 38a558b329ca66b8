"""How gradients are exchanged, and what goes on where inputs are of different number."""
from __future__ import annotations

from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
