# ruff: noqa: F401
"""Kullback-Leibler divergences.

Each pair of classes of distributions has a formula, ``registry`` finds it.
"""

from . import between, continuous, discrete, multivariate
from .registry import _KL_REGISTRY, _dispatch_kl, kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
