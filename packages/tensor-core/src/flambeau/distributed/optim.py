"""Optimizers of several processes, which flambeau-optim has."""
from __future__ import annotations

from typing import Any

from flambeau import rooms

__all__ = ["ZeroRedundancyOptimizer"]

ZeroRedundancyOptimizer: Any = rooms.import_module(
    f"{rooms.PREFIX}optim.sharded").ZeroRedundancyOptimizer
