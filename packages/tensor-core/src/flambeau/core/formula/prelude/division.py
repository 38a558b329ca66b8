"""Division with remainder of floats, as Python and C define it."""

from __future__ import annotations

from ..expr import Expr, call, extern
from ..registry import define
from .tools import INF, NAN, absolute, bits, copysign, eq, mul_err, ne, select

#: Quotients below are found exactly with one multiplication.
_EXACT = {"f32": 2.0**22, "f64": 2.0**51}
#: Divisors below might lose bits of the product.
_SMALL = {"f32": 2.0**-80, "f64": 2.0**-900}


@define("fmod", "float")
def fmod(x: Expr, y: Expr, *, dtype: str) -> Expr:
    """x - trunc(x / y) y: exact, with the sign of x.

    A quotient within the exact range is off by one at most, which shows in the sign or size
    of the remainder. Others are rare and left to the library.
    """
    a, b = absolute(x), absolute(y)
    quotient = call("trunc", a / b)
    product = quotient * b
    r = (a - product) - mul_err(quotient, b)
    r = select(r < 0.0, r + b, r)
    r = select(r >= b, r - b, r)
    usual = ((quotient < _EXACT[dtype]) & (b > _SMALL[dtype]) & (b < INF)) | (a < b)
    value = copysign(select(a < b, a, r), x)
    nothing = eq(b, 0.0) | eq(a, INF) | ne(a, a) | ne(b, b)
    return call("rare", ~(usual | nothing), extern("fmod", x, y), select(nothing, NAN, value))


@define("fmod", "int")
def fmod_int(x: Expr, y: Expr) -> Expr:
    """The remainder with the sign of x."""
    return call("rem", x, y)


@define("mod", "float")
def mod(x: Expr, y: Expr) -> Expr:
    """The remainder with the sign of y; a zero has that of x."""
    r = call("fmod", x, y)
    return select(_opposite(r, y), r + y, r)


@define("floordiv", "float")
def floordiv(x: Expr, y: Expr) -> Expr:
    """floor of the exact quotient, x / y where y is zero."""
    r = call("fmod", x, y)
    quotient = (x - r) / y
    quotient = quotient - select(_opposite(r, y), 1.0, 0.0)
    floor = call("floor", quotient)
    floor = floor + select(quotient - floor > 0.5, 1.0, 0.0)
    value = select(eq(quotient, 0.0), copysign(0.0, x / y), floor)
    return select(eq(y, 0.0), x / y, value)


@define("truncdiv", "float")
def truncdiv(x: Expr, y: Expr) -> Expr:
    """x / y rounded towards zero."""
    return call("trunc", x / y)


def _opposite(r: Expr, y: Expr) -> Expr:
    """Whether the remainder is not zero and has the other sign than the divisor."""
    return ne(r, 0.0) & ((bits(r) ^ bits(y)) < 0)
