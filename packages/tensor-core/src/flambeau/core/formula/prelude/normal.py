"""The normal distribution function and what belongs to it."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..expr import Expr, call
from ..registry import define
from .error import erfcx_positive, guessed_inverse, inverse
from .tools import INF, NAN, absolute, eq, limit, mul_err, select

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO = math.sqrt(2.0)
#: The distribution function is 0 before the negative of this.
_END = 40.0


@define("erfcx", "f32")
def erfcx_f32(x: Expr) -> Expr:
    """The double-precision function, rounded."""
    return call("f32", call("erfcx", call("f64", x)))


@define("erfcx", "f64")
def erfcx_f64(x: Expr) -> Expr:
    """exp(x**2) erfc(x), by reflection for x < 0."""
    square = x * x
    growth = call("exp", square)
    growth = growth + select(growth < INF, growth * mul_err(x, x), 0.0)
    value = erfcx_positive(absolute(x), "f64")
    return select(x < 0.0, 2.0 * growth - value, value)


@define("ndtr", "f32")
def ndtr_f32(x: Expr) -> Expr:
    """The double-precision function, rounded."""
    return call("f32", call("ndtr", call("f64", x)))


@define("ndtr", "f64")
def ndtr_f64(x: Expr) -> Expr:
    """From the tail exp(-x**2 / 2) erfcx(|x| / sqrt(2)) / 2, with x**2 in two parts."""
    a = limit(absolute(x), 0.0, _END)
    square = 0.5 * a * a
    density = call("exp", -square)
    density = density - density * (0.5 * mul_err(a, a))
    tail = 0.5 * density * erfcx_positive(a * _ROOT_HALF, "f64")
    return select(x < 0.0, tail, 1.0 - tail)


@define("log_ndtr", "f32")
def log_ndtr_f32(x: Expr) -> Expr:
    """The double-precision function, rounded."""
    return call("f32", call("log_ndtr", call("f64", x)))


@define("log_ndtr", "f64")
def log_ndtr_f64(x: Expr) -> Expr:
    """The logarithm of the scaled function below -1, of 1 minus the other tail above."""
    low = call("log", 0.5 * erfcx_positive(absolute(x) * _ROOT_HALF, "f64")) - 0.5 * x * x
    high = call("log1p", -call("ndtr", -x))
    value = select(x < -1.0, low, high)
    return select(eq(x, -INF), -INF, value)


@define("ndtri", "f32")
def ndtri_f32(p: Expr) -> Expr:
    """From the first guess in double precision, which has more digits than the result."""
    return call("f32", call("ndtri_guess", call("f64", p)))


@define("ndtri_guess", "f64")
def ndtri_guess(p: Expr) -> Expr:
    """The inverse of ndtr to 26 bits."""
    return _from_inverse(p, guessed_inverse)


@define("ndtri", "f64")
def ndtri_f64(p: Expr) -> Expr:
    """From the inverse of erf in full."""
    return _from_inverse(p, inverse)


def _from_inverse(p: Expr, of_positive: Callable[[Expr, Expr], Expr]) -> Expr:
    """sqrt(2) times the inverse of erf at 2 p - 1, from whichever end is nearer."""
    inside = (p > 0.0) & (p < 1.0)
    q = select(inside, p, 0.5)
    y = _ROOT_TWO * of_positive(absolute(2.0 * q - 1.0), 2.0 * call("minimum", q, 1.0 - q))
    edge = select(eq(p, 0.0), -INF, select(eq(p, 1.0), INF, NAN))
    return select(inside, select(p < 0.5, -y, y), edge)
