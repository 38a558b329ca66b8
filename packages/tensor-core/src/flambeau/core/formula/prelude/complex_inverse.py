"""Inverse trigonometric and hyperbolic functions of complex numbers, after Kahan (1987).

The signs of zero parts choose the side of a branch cut. Far out the logarithm of twice the size
takes over, where squares would leave the range.
"""

from __future__ import annotations

from ..expr import Expr, call
from ..parts import Pair
from ..registry import define
from .complex import over_i, square_root, times_i
from .complex_exponential import LN2
from .tools import INF, absolute, bits, copysign, eq, select

HALF_PI = 1.5707963267948966
#: From here on 1 is lost beside the square of a number.
FAR = 1.0e9


def _is_far(z: Pair) -> Expr:
    """Whether a part is large; NaN beside it does not hide an infinite one (C's annex G)."""
    return (absolute(z.re) > FAR) | (absolute(z.im) > FAR)


def _is_zero(x: Expr) -> Expr:
    """Whether x is 0 or -0, by its bits."""
    return eq(bits(absolute(x)), 0)


def _log_twice(z: Pair) -> Expr:
    """log(2 |z|) of large numbers."""
    return call("log", call("hypot", 0.25 * z.re, 0.25 * z.im)) + 3.0 * LN2


def _roots(z: Pair) -> tuple[Pair, Pair]:
    """sqrt(1 - z) and sqrt(1 + z)."""
    return square_root(Pair(1.0 - z.re, -z.im)), square_root(Pair(1.0 + z.re, z.im))


@define("asin", "complex")
def asin(z: Pair) -> Pair:
    """Products of the two roots whose terms have one sign."""
    a, b = _roots(z)
    far = _is_far(z)
    re = call("atan2", z.re, select(far, absolute(z.im), a.re * b.re - a.im * b.im))
    im = call("asinh", a.re * b.im - a.im * b.re)
    return Pair(select(_is_zero(z.re), z.re, re), select(far, copysign(_log_twice(z), z.im), im))


@define("acos", "complex")
def acos(z: Pair) -> Pair:
    """Twice the angle between the roots."""
    a, b = _roots(z)
    far = _is_far(z)
    none = _is_zero(z.re)
    half = call("atan2", select(none, 1.0, a.re), select(none, 1.0, b.re))
    re = select(far, call("atan2", absolute(z.im), z.re), 2.0 * half)
    im = call("asinh", b.re * a.im - b.im * a.re)
    return Pair(re, select(far, copysign(_log_twice(z), -z.im), im))


@define("acosh", "complex")
def acosh(z: Pair) -> Pair:
    """From sqrt(z - 1) and sqrt(z + 1); the real part is never negative."""
    a, b = square_root(Pair(z.re - 1.0, z.im)), square_root(Pair(z.re + 1.0, z.im))
    far = _is_far(z)
    re = call("asinh", a.re * b.re + a.im * b.im)
    none = _is_zero(z.re)
    half = call("atan2", select(none, copysign(1.0, z.im), a.im), select(none, 1.0, b.re))
    im = select(far, call("atan2", z.im, z.re), 2.0 * half)
    return Pair(select(far, _log_twice(z), re), im)


@define("asinh", "complex")
def asinh(z: Pair) -> Pair:
    """asinh(z) = -i asin(i z)."""
    return over_i(asin(times_i(z)))


@define("atanh", "complex")
def atanh(z: Pair) -> Pair:
    """A quarter of log1p over the distance from 1; logarithms of distances close to it."""
    x, y = absolute(z.re), z.im
    far = _is_far(z)
    gap = 1.0 - x
    distance = call("hypot", gap, y)
    close = distance < 1.0e-8
    ratio = 4.0 * x / select(close | _is_zero(x), 1.0, gap * gap + y * y)
    log = select(
        close,
        0.5 * (call("log", call("hypot", 1.0 + x, y)) - call("log", distance)),
        0.25 * call("log1p", ratio),
    )
    size = call("hypot", x, y)
    decay = select(eq(size, INF), 0.0, (x / size) / size)
    angle = 0.5 * call("atan2", 2.0 * y, gap * (1.0 + x) - y * y)
    im = select(far & eq(y, y) & eq(size, size), copysign(HALF_PI, y), angle)
    return Pair(copysign(select(far, decay, log), z.re), im)


@define("atan", "complex")
def atan(z: Pair) -> Pair:
    """atan(z) = -i atanh(i z)."""
    return over_i(atanh(times_i(z)))
