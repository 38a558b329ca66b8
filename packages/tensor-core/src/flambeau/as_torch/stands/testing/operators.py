"""`torch.testing._internal.optests`: checks of operators, which `torch.library` has, too."""
from __future__ import annotations

from flambeau.library import opcheck

__all__ = ["opcheck"]
