"""The error function, its complement and its inverse."""

from __future__ import annotations

from collections.abc import Callable

from ..expr import Expr, call
from ..registry import define
from .coefficients import ERF, ERFCX, INVERSE_MIDDLE, INVERSE_TAIL, LOG_ERFC
from .exponential import exp_small
from .tools import (
    INF,
    NAN,
    absolute,
    away_from_zero,
    copysign,
    fma,
    horner,
    limit,
    mul_err,
    select,
    sqrt,
)

_CENTER = {"f32": 2.0, "f64": 4.0}
#: erfc is zero beyond.
_ERFC_RANGE = {"f32": 11.0, "f64": 28.0}
_TWO_OVER_ROOT_PI = 1.1283791670955126
_ONE_OVER_ROOT_PI = 0.5641895835477563
#: sqrt(pi) a erfcx(a) in powers of 1 / a**2.
_ASYMPTOTIC = (1.0, -0.5, 0.75, -1.875, 6.5625, -29.53125, 162.421875)


@define("erf", "f32")
def erf_f32(x: Expr) -> Expr:
    """x * P(x**2) to 0.93; 1 - exp(-Q(|x|)) beyond."""
    a = absolute(x)
    b = away_from_zero(select(a > 4.0, 4.0, a), "f32")
    q = fma(b, horner(b, LOG_ERFC["f32"]), b)
    far = copysign(1.0 - exp_small(-q, "f32"), x)
    return select(a < 0.93, _near(x, "f32"), far)


@define("erf", "f64")
def erf_f64(x: Expr) -> Expr:
    """x * P(x**2) to 1; 1 - erfc(|x|) beyond."""
    a = absolute(x)
    far = copysign(1.0 - _erfc_positive(a, "f64"), x)
    return select(a < 1.0, _near(x, "f64"), far)


@define("erfc", "float")
def erfc(x: Expr, *, dtype: str) -> Expr:
    """exp(-x**2) times a slowly varying function, seen from 2 if x < 0."""
    value = _erfc_positive(absolute(x), dtype)
    near = 1.0 - _near(away_from_zero(x, dtype), dtype)
    return select(absolute(x) < 0.25, near, select(x < 0.0, 2.0 - value, value))


@define("erfinv", "f32")
def erfinv_f32(x: Expr) -> Expr:
    """From the first guess in double precision, which has more digits than the result."""
    return call("f32", call("erfinv_guess", call("f64", x)))


@define("erfinv_guess", "f64")
def erfinv_guess(x: Expr) -> Expr:
    """The inverse of erf to 26 bits."""
    return _with_edges(x, guessed_inverse)


@define("erfinv", "f64")
def erfinv_f64(x: Expr) -> Expr:
    """The inverse of erf for x > 0, with the sign of x."""
    return _with_edges(x, inverse)


def _with_edges(x: Expr, of_positive: Callable[[Expr, Expr], Expr]) -> Expr:
    a = absolute(x)
    inside = a < 1.0
    y = of_positive(select(inside, a, 0.5), select(inside, 1.0 - a, 0.5))
    y = select(inside, y, select(call("eq", a, 1.0), INF, NAN))
    return copysign(y, x)


def guessed_inverse(a: Expr, rest: Expr) -> Expr:
    """The y for which erf(y) = a and erfc(y) = rest = 1 - a, to 26 bits.

    With w = -log(1 - a**2) the inverse is a times a polynomial in w, in the tail sqrt(w) times a
    polynomial in 1 / sqrt(w).
    """
    w = -call("log", rest * (1.0 + a))
    root = sqrt(w)
    tail = root * horner(1.0 / select(w > 5.0, root, 3.0), INVERSE_TAIL["f64"])
    return select(w > 5.0, tail, a * horner(w, INVERSE_MIDDLE["f64"]))


def inverse(a: Expr, rest: Expr) -> Expr:
    """The same in full: a step of Halley's method, which triples the digits of the guess.

    On erf(y) = a in the middle; on log(erfc(y)) = log(rest) in the tail, where erf is flat.
    """
    tail = a > 0.5
    y = guessed_inverse(a, rest)
    size = erfcx_positive(y, "f64")
    slope = select(tail, _TWO_OVER_ROOT_PI / size, _TWO_OVER_ROOT_PI * call("exp", -(y * y)))
    error = select(tail, call("log", size) - y * y - call("log", rest), a - _near(y, "f64"))
    step = error / slope
    bend = select(tail, 0.5 * slope - y, -y)
    return y + step / fma(step, bend, 1.0)


def _near(x: Expr, dtype: str) -> Expr:
    return fma(x, horner(x * x, ERF[dtype]), x)


def _erfc_positive(a: Expr, dtype: str) -> Expr:
    """exp(-a**2) erfcx(a)."""
    a = limit(a, 0.0, _ERFC_RANGE[dtype])
    square = a * a
    e = call("exp", -square)
    e = e - e * mul_err(a, a)
    return e * _erfcx_middle(a, dtype)


def _erfcx_middle(a: Expr, dtype: str) -> Expr:
    """P(y) / (1 + 2 a) with y = (a - k) / (a + k), inside the range of erfc."""
    center = _CENTER[dtype]
    y = (a - center) / (a + center)
    return horner(y, ERFCX[dtype]) / fma(2.0, a, 1.0)


def erfcx_positive(a: Expr, dtype: str) -> Expr:
    """exp(a**2) erfc(a) for a >= 0; the asymptotic series beyond the range of erfc."""
    end = _ERFC_RANGE[dtype]
    middle = _erfcx_middle(limit(a, 0.0, end), dtype)
    inverse = 1.0 / a
    far = _ONE_OVER_ROOT_PI * inverse * horner(inverse * inverse, _ASYMPTOTIC)
    return select(a > end, far, middle)
