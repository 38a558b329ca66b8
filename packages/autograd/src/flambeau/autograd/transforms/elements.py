"""Which kernels compute each element from those at the same place, as pointwise operators do."""
from __future__ import annotations

from flambeau.core import row

__all__ = ["is_like_pointwise"]

#: How the results of such kernels are inferred: one operand, two, or two of integers.
_INFER = ("special_one", "special_pair", "integer_pair")


def is_like_pointwise(key: str) -> bool:
    """Whether a definition is pointwise in all but its kernel."""
    return row(key).infer in _INFER
