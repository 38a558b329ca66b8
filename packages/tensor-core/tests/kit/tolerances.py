"""How far a result may lie from the expected one.

Relative and absolute tolerances are the package's own table; pointwise operators are held to
units in the last place.
"""

from __future__ import annotations

import math

from flambeau.testing.tolerances import TOLERANCES

#: Greatest error of one pointwise operator in units in the last place, by dtype.
ULPS = {"float16": 1.0, "bfloat16": 1.0, "float32": 2.0, "float64": 4.0}

#: Bits after the binary point of the significand, and the least normal exponent.
_FORMATS = {"float16": (10, -14), "bfloat16": (7, -126), "float32": (23, -126),
            "float64": (52, -1022), "complex64": (23, -126), "complex128": (52, -1022)}


def is_exact(dtype: str) -> bool:
    """Whether results of this dtype must be equal."""
    return dtype not in TOLERANCES


def unit(dtype: str, value: float) -> float:
    """Size of one unit in the last place of ``value`` in a dtype."""
    bits, least = _FORMATS[dtype]
    if value == 0 or not math.isfinite(value):
        return math.ldexp(1.0, least - bits)
    exponent = max(math.frexp(abs(value))[1] - 1, least)
    return math.ldexp(1.0, exponent - bits)


def ulps(dtype: str) -> float:
    """Greatest error of a pointwise operator, in units in the last place."""
    return ULPS[dtype]


def relative_absolute(dtype: str) -> tuple[float, float]:
    """Tolerances of operators that add up many numbers."""
    return TOLERANCES[dtype]
