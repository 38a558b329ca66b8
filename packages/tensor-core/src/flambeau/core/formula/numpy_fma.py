"""Fused multiply-add for NumPy arrays, which has none: exact products, rounded once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

Array = Any

_LARGE, _SMALL = 2.0**990, 2.0**-900


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float32 or float64 arrays, rounded once."""
    import numpy as np

    a, b, c = np.broadcast_arrays(a, b, c)
    return _fma32(np, a, b, c) if a.dtype == np.float32 else _fma64(np, a, b, c)


def _fma32(np: Any, a: Array, b: Array, c: Array) -> Array:
    """The product is exact in float64; the sum is rounded to odd, so a second rounding is safe."""
    product = a.astype(np.float64) * b.astype(np.float64)
    return _add_to_odd(np, product, c.astype(np.float64)).astype(np.float32)


def _fma64(np: Any, a: Array, b: Array, c: Array) -> Array:
    """Boldo and Melquiond's algorithm; factors near the limits go through fractions."""
    product, low = _product(np, a, b)
    high, rest = _sum(c, low)
    total, lost = _sum(product, high)
    result = total + _add_to_odd(np, rest, lost)
    plain = a * b + c
    simple = ~np.isfinite(a + b + c) | (a == 0) | (b == 0)
    result = np.where(simple, plain, result)
    sizes = [np.abs(x) for x in (a, b, c, product)]
    near = np.logical_or.reduce([size > _LARGE for size in sizes]) | (sizes[3] < _SMALL)
    for index in np.argwhere(near & ~simple):
        where = tuple(index)
        result[where] = _exact(float(a[where]), float(b[where]), float(c[where]))
    return result


def _add_to_odd(np: Any, x: Array, y: Array) -> Array:
    """x + y, and where that is inexact the neighbour with an odd last bit."""
    total, lost = _sum(x, y)
    pattern = np.ascontiguousarray(total).view(np.int64).reshape(np.shape(total))
    away = (lost > 0) == (total > 0)
    moved = np.asarray(pattern + np.where(away, 1, -1)).view(np.float64)
    inexact = np.isfinite(lost) & (lost != 0) & (pattern & 1 == 0)
    return np.where(inexact, moved, total)


def _sum(x: Array, y: Array) -> tuple[Array, Array]:
    """x + y and what it loses."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def _product(np: Any, a: Array, b: Array) -> tuple[Array, Array]:
    """a * b and what it loses, by splitting into halves of 26 bits."""
    product = a * b
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


def _halves(x: Array) -> tuple[Array, Array]:
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    return high, x - high


def _exact(a: float, b: float, c: float) -> float:
    value = Fraction(a) * Fraction(b) + Fraction(c)
    if value == 0:
        return a * b + c
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
