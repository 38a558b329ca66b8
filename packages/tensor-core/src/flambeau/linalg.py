"""Linear algebra: norms, decompositions, solvers, under PyTorch's names.

The functions are operators of the table whose rows name this module among their aliases.
"""
from __future__ import annotations

from flambeau.core import namespaces
from flambeau.core._core import LinAlgError

_FUNCTIONS = namespaces.get("linalg", {})
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
__all__ += ["LinAlgError"]
