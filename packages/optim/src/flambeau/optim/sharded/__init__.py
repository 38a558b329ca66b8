"""Optimizers of several processes, each of which keeps a part of the state."""

from .zero_redundancy import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
