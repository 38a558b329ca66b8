"""Attention: which kernel computes it, causal masks by name, and a cache for generation.

``scaled_dot_product_attention`` itself is in ``nn.functional``, layers of it are in ``nn``.
"""

from . import bias
from .cache import KeyValueCache, LayerCache, MemoryCache
from .kernels import SDPBackend, sdpa_kernel

__all__ = [
    "KeyValueCache",
    "LayerCache",
    "MemoryCache",
    "SDPBackend",
    "bias",
    "sdpa_kernel",
]
