"""Arithmetic with sizes: they are plain numbers here, known when a program runs."""
from __future__ import annotations

import math
from typing import Any

sym_int, sym_float, sym_max, sym_min, sym_sqrt = int, float, max, min, math.sqrt


def sym_not(a: bool) -> bool:
    """The opposite."""
    return not a


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """One of two values."""
    return t if b else f


def sym_sum(args: Any) -> Any:
    """The sum of numbers."""
    return sum(args)
