"""Inverse trigonometric functions."""

from __future__ import annotations

from ..expr import Expr, Operand
from ..registry import define
from .coefficients import ASIN, ATAN
from .tools import INF, absolute, bits, copysign, eq, fma, horner, select, sqrt

PI = 3.141592653589793
HALF_PI = 1.5707963267948966
#: What pi/2 loses by rounding, by precision.
_HALF_PI_LOW = {"f32": -4.371139000186241e-08, "f64": 6.123233995736766e-17}


@define("asin", "float")
def asin(x: Expr, *, dtype: str) -> Expr:
    """A polynomial to 1/2; pi/2 - 2 asin(sqrt((1 - |x|) / 2)) beyond."""
    a = absolute(x)
    small = a <= 0.5
    root, correction = _root_and_rest(a, small, dtype)
    beyond = HALF_PI - (2.0 * root + (2.0 * correction - _HALF_PI_LOW[dtype]))
    return copysign(select(small, root + correction, beyond), x)


@define("acos", "float")
def acos(x: Expr, *, dtype: str) -> Expr:
    """pi/2 - asin(x) to 1/2; twice the asin of the root beyond, seen from pi if x < 0."""
    a = absolute(x)
    small = a <= 0.5
    root, correction = _root_and_rest(a, small, dtype)
    low = _HALF_PI_LOW[dtype]
    near = HALF_PI - (copysign(root, x) + (copysign(correction, x) - low))
    twice = 2.0 * (root + correction)
    far = select(x < 0.0, PI - (twice - 2.0 * low), twice)
    return select(small, near, far)


@define("atan", "float")
def atan(x: Expr, *, dtype: str) -> Expr:
    """A polynomial to 1; pi/2 - atan(1 / |x|) beyond."""
    a = absolute(x)
    far = a > 1.0
    angle = _atan_kernel(select(far, 1.0 / a, a), dtype)
    return copysign(select(far, HALF_PI - (angle - _HALF_PI_LOW[dtype]), angle), x)


@define("atan2", "float")
def atan2(y: Expr, x: Expr, *, dtype: str) -> Expr:
    """The angle of the smaller part over the larger, put into the right octant.

    From pi/2 it goes to both sides, so that ``atan2(1, -0.0)`` is what ``atan2(1, 0.0)`` is.
    """
    ay, ax = absolute(y), absolute(x)
    swap = ay > ax
    small, large = select(swap, ax, ay), select(swap, ay, ax)
    ratio = select(eq(small, large), select(eq(large, 0.0), 0.0, 1.0), small / large)
    angle = _atan_kernel(ratio, dtype)
    low = _HALF_PI_LOW[dtype]
    steep = HALF_PI - (copysign(angle, x) - low)
    flat = select(bits(x) < 0, PI - (angle - 2.0 * low), angle)
    angle = select(swap, steep, flat)
    number = (ax <= INF) & (ay <= INF)
    return select(number, copysign(angle, y), x + y)


def _atan_kernel(t: Expr, dtype: str) -> Expr:
    """atan(t) for 0 <= t <= 1."""
    z = t * t
    return fma(t * z, horner(z, ATAN[dtype]), t)


def _root_and_rest(a: Expr, small: Expr, dtype: str) -> tuple[Expr, Expr]:
    """t and asin(t) - t, for t = a if it is small, else sqrt((1 - a) / 2)."""
    half: Operand = 0.5 * (1.0 - a)
    z = select(small, a * a, half)
    t = select(small, a, sqrt(z))
    return t, t * z * horner(z, ASIN[dtype])
