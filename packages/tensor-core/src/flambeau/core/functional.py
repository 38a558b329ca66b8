"""Functions of ``flambeau.nn.functional`` that are operators of the table, as they are.

``functional.pyi``, which the build writes from the table, shows them with their types.
"""
from __future__ import annotations

from flambeau.core import namespaces

_FUNCTIONS = namespaces["nn.functional"]
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
