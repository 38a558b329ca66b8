"""What `fully_shard` is told of dtypes and devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """In which dtypes a module computes and processes exchange.

    Attributes:
        param_dtype: That of the whole parameters, and of inputs; the parts keep their own.
        reduce_dtype: That in which gradients are added; ``param_dtype`` by default.
        output_dtype: That of the outputs.
        cast_forward_inputs: Whether inputs are cast to ``param_dtype``.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parts stay on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parts stay in the CPU's memory, where they are anyway.

    Attributes:
        pin_memory: Accepted for compatibility.
    """

    pin_memory: bool = True
