"""Parametrizations that are ready to use: orthogonal, of a given norm, of spectral norm one."""

from .orthogonal import orthogonal
from .spectral import spectral_norm
from .weight import weight_norm

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
