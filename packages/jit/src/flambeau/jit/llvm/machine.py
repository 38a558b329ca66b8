"""The processor that code is made for: the level the core's own kernels run at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from flambeau.jit import bridge


@dataclass(frozen=True)
class Machine:
    """A target.

    Args:
        cpu: LLVM's name of the processor.
        has_fma: whether it multiplies and adds in one rounding.
        vector_bits: the vectors to use; LLVM alone would not use the widest.
    """

    cpu: str
    has_fma: bool
    vector_bits: int


_MACHINES = {
    "v2": Machine("x86-64-v2", False, 128),
    "v3": Machine("x86-64-v3", True, 256),
    "v4": Machine("x86-64-v4", True, 512),
}


@cache
def machine() -> Machine:
    """The target at hand, so that this code rounds as the core's kernels do."""
    return _MACHINES.get(bridge.isa_level(), Machine("generic", True, 128))
