"""Pipelines of data sets: each stage wraps the one before, ``data.shuffle().map(f).batch(8)``."""

from . import iter, map

__all__ = ["iter", "map"]
