"""Special functions: of mathematics and statistics, under PyTorch's names.

The functions are operators of the table whose rows name this module among their aliases.
"""
from __future__ import annotations

from flambeau.core import namespaces

_FUNCTIONS = namespaces.get("special", {})
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
