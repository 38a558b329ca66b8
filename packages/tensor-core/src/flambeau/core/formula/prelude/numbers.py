"""Sums of logarithms, ratios that need care, and steps between neighbouring numbers."""

from __future__ import annotations

import math

from ..expr import Expr, call
from ..parts import Pair
from ..registry import define
from .complex_exponential import exp, log, sin
from .exponential import exp_falling
from .tools import FORMATS, INF, absolute, bits, copysign, eq, frombits, ne, select

_SMALLEST = {"f32": 2.0**-149, "f64": 2.0**-1074}


@define("xlogy", "float")
def xlogy(x: Expr, y: Expr) -> Expr:
    """x log(y), and 0 where x is 0 unless y is nan."""
    return select(eq(x, 0.0) & eq(y, y), 0.0, x * call("log", y))


@define("xlog1py", "float")
def xlog1py(x: Expr, y: Expr) -> Expr:
    """x log(1 + y), and 0 where x is 0 unless y is nan."""
    return select(eq(x, 0.0) & eq(y, y), 0.0, x * call("log1p", y))


@define("entr", "float")
def entr(x: Expr) -> Expr:
    """-x log(x); 0 at 0, -inf below."""
    return select(x < 0.0, -INF, select(eq(x, 0.0), 0.0, -(x * call("log", x))))


@define("logit", "float")
def logit(x: Expr) -> Expr:
    """log(x / (1 - x)); where that is near 0, by how far the quotient is from 1."""
    near = call("log1p", (2.0 * x - 1.0) / (1.0 - x))
    return select(x < 0.25, call("log", x / (1.0 - x)), near)


@define("logaddexp", "float")
def logaddexp(x: Expr, y: Expr, *, dtype: str) -> Expr:
    """log(exp(x) + exp(y)): the larger and a small correction."""
    small = call("log1p", exp_falling(-absolute(x - y), dtype))
    return select(eq(x, y) & eq(absolute(x), INF), x, call("maximum", x, y) + small)


@define("logaddexp", "complex")
def logaddexp_complex(x: Pair, y: Pair) -> Pair:
    """The logarithm of the sum, from the one with the larger real part."""
    first = x.re >= y.re
    large = Pair(select(first, x.re, y.re), select(first, x.im, y.im))
    small = Pair(select(first, y.re, x.re), select(first, y.im, x.im))
    grown = exp(small - large)
    return large + log(Pair(1.0 + grown.re, grown.im))


@define("logaddexp2", "float")
def logaddexp2(x: Expr, y: Expr) -> Expr:
    """log2(2**x + 2**y)."""
    small = call("log1p", call("exp2", -absolute(x - y))) * (1.0 / math.log(2.0))
    return select(eq(x, y) & eq(absolute(x), INF), x, call("maximum", x, y) + small)


@define("sinc", "float")
def sinc(x: Expr) -> Expr:
    """sin(pi x) / (pi x), with the angle reduced before it is multiplied by pi."""
    n = call("rint", x)
    half = 0.5 * n
    sine = call("sin", math.pi * (x - n)) / (math.pi * x)
    sine = select(ne(call("rint", half), half), -sine, sine)
    return select(eq(x, 0.0), 1.0, sine)


@define("sinc", "complex")
def sinc_complex(z: Pair) -> Pair:
    """sin(pi z) / (pi z)."""
    angle = z.scale(math.pi)
    value = sin(angle) / angle
    zero = eq(z.re, 0.0) & eq(z.im, 0.0)
    return Pair(select(zero, 1.0, value.re), select(zero, 0.0, value.im))


@define("nextafter", "float")
def nextafter(x: Expr, y: Expr, *, dtype: str) -> Expr:
    """The next number after x towards y."""
    code = bits(x)
    grows = ~((y > x) ^ (x > 0.0))
    value = frombits(select(grows, code + 1, code - 1))
    value = select(eq(x, 0.0), copysign(_SMALLEST[dtype], y), value)
    return select(eq(x, y), y, select(ne(x, x) | ne(y, y), x + y, value))


@define("nextafter_narrow", "float")
def nextafter_narrow(
    x: Expr, y: Expr, least: Expr, normal: Expr, step: Expr, top: Expr, *, dtype: str
) -> Expr:
    """As ``nextafter`` for numbers of a format with fewer bits, held in a wider one.

    They lie ``step`` apart, counted in steps of the wider format, from ``normal`` on, and
    ``least`` apart below; ``top`` follows the greatest.
    """
    a = call("minimum", absolute(x), top)
    grows = ~((y > x) ^ (x > 0.0))
    count = call(FORMATS[dtype].integer, step)
    above = select(a < normal, a + least, frombits(bits(a) + count))
    below = select(a <= normal, a - least, frombits(bits(a) - count))
    value = copysign(select(grows, above, below), x)
    value = select(eq(x, 0.0), copysign(least, y), value)
    return select(eq(x, y), y, select(ne(x, x) | ne(y, y), x + y, value))
