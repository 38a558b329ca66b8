"""Discrete Fourier transforms: of one, two and many dimensions, under PyTorch's names.

The functions are operators of the table whose rows name this module among their aliases.
"""
from __future__ import annotations

from flambeau.core import namespaces

_FUNCTIONS = namespaces.get("fft", {})
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
