"""Signal processing: window functions."""
from __future__ import annotations

from flambeau.signal import windows

__all__ = ["windows"]
