"""Complex numbers as pairs: size, direction, roots. Exponentials and inverse functions of complex
numbers have files of their own.

Sizes are taken of numbers scaled by a power of two where squares or sums might leave the range.
"""

from __future__ import annotations

from ..expr import Expr, call, const
from ..parts import Pair
from ..registry import define
from .tools import INF, absolute, copysign, eq, select, sqrt

#: Beyond these sizes numbers are scaled by 2**-600 or 2**600. In single precision they are
#: infinite and zero, so nothing is scaled there.
LARGE, SMALL = 2.0**500, 2.0**-500
DOWN, UP = 2.0**-600, 2.0**600


def scaled(z: Pair) -> tuple[Pair, Expr, Expr]:
    """z times a power of two that keeps its square in range; whether it was large, or small."""
    size = call("maximum", absolute(z.re), absolute(z.im))
    large, small = size > LARGE, size < SMALL
    factor = select(large, DOWN, select(small, UP, 1.0))
    return Pair(z.re * factor, z.im * factor), large, small


def is_zero(z: Pair) -> Expr:
    """Whether both parts are zero."""
    return eq(z.re, 0.0) & eq(z.im, 0.0)


def times_i(z: Pair) -> Pair:
    """i z."""
    return Pair(-z.im, z.re)


def over_i(z: Pair) -> Pair:
    """-i z."""
    return Pair(z.im, -z.re)


@define("abs", "complex")
def modulus(z: Pair) -> Expr:
    """The modulus."""
    return call("hypot", z.re, z.im)


@define("angle", "complex")
def angle(z: Pair) -> Expr:
    """The argument."""
    return call("atan2", z.im, z.re)


@define("angle", "float")
def angle_real(x: Expr) -> Expr:
    """pi below zero, else 0."""
    return select(call("ne", x, x), x, select(x < 0.0, 3.141592653589793, 0.0))


@define("sign", "complex")
def sign(z: Pair) -> Pair:
    """z / |z|, 0 at 0."""
    w, _, _ = scaled(z)
    size = call("hypot", w.re, w.im)
    zero = eq(size, 0.0)
    return Pair(select(zero, 0.0, w.re / size), select(zero, 0.0, w.im / size))


@define("square", "complex")
def square(z: Pair) -> Pair:
    """z * z."""
    return z * z


@define("reciprocal", "complex")
def reciprocal(z: Pair) -> Pair:
    """1 / z."""
    return Pair(const(1.0), const(0.0)) / z


@define("sqrt", "complex")
def square_root(z: Pair) -> Pair:
    """The root in the right half plane; an infinite imaginary part wins over everything."""
    w, large, small = scaled(z)
    t = sqrt(0.5 * (call("hypot", w.re, w.im) + absolute(w.re)))
    other = select(eq(t, 0.0), 0.0, absolute(w.im) / (2.0 * t))
    back = select(large, 2.0**300, select(small, 2.0**-300, 1.0))
    left = call("signbit", z.re)
    endless = eq(absolute(z.im), INF)
    re = select(endless, INF, select(left, other, t) * back)
    im = select(endless, INF, select(left, t, other) * back)
    return Pair(re, copysign(im, z.im))


@define("rsqrt", "complex")
def rsqrt(z: Pair) -> Pair:
    """1 / sqrt(z)."""
    return reciprocal(square_root(z))
