"""Plain tensors beside shared ones, and functions of parts."""

from .._dispatch import implicit_replication
from ._local_map import local_map

__all__ = ["implicit_replication", "local_map"]
