"""Hyperbolic functions and their inverses."""

from __future__ import annotations

from ..expr import Expr, call
from ..registry import define
from .coefficients import SINH, TANH
from .exponential import EXP_RANGE, exp_parts, exp_small
from .tools import (
    FORMATS,
    NAN,
    absolute,
    away_from_zero,
    copysign,
    fma,
    horner,
    limit,
    scale,
    select,
    sqrt,
)

LN2 = 0.6931471805599453
#: tanh is 1 beyond half of this.
_TANH_RANGE = {"f32": 20.0, "f64": 40.0}
#: exp(-x) is too small to be seen beside exp(x) from here on.
_ONE_SIDED = {"f32": 2.0**100, "f64": 2.0**1000}
#: x**2 + 1 equals x**2 beyond.
_HUGE = {"f32": 2.0**14, "f64": 2.0**28}


@define("sinh", "float")
def sinh(x: Expr, *, dtype: str) -> Expr:
    """exp(|x|)/2 - exp(-|x|)/2; a polynomial near zero."""
    a = absolute(x)
    half = _half_exp(a, dtype)
    z = x * x
    near = fma(x * z, horner(z, SINH[dtype]), x)
    return select(a < 1.0, near, copysign(half - _other_half(half, dtype), x))


@define("cosh", "float")
def cosh(x: Expr, *, dtype: str) -> Expr:
    """exp(|x|)/2 + exp(-|x|)/2."""
    half = _half_exp(absolute(x), dtype)
    return half + _other_half(half, dtype)


@define("tanh", "float")
def tanh(x: Expr, *, dtype: str) -> Expr:
    """1 - 2 / (exp(2 |x|) + 1); a polynomial near zero."""
    a = absolute(x)
    double = a + a
    top = _TANH_RANGE[dtype]
    e = exp_small(away_from_zero(select(double > top, top, double), dtype), dtype)
    z = x * x
    near = fma(a * z, horner(z, TANH[dtype]), a)
    return copysign(select(a < 0.55, near, 1.0 - 2.0 / (e + 1.0)), x)


@define("asinh", "float")
def asinh(x: Expr, *, dtype: str) -> Expr:
    """log1p of |x| + (sqrt(x**2 + 1) - 1), written without cancellation."""
    a = absolute(x)
    huge = a > _HUGE[dtype]
    b = select(huge, 1.0, a)
    square = b * b
    argument = select(huge, a - 1.0, b + square / (1.0 + sqrt(square + 1.0)))
    return copysign(call("log1p", argument) + select(huge, LN2, 0.0), x)


@define("acosh", "float")
def acosh(x: Expr, *, dtype: str) -> Expr:
    """log1p of t + sqrt(t (t + 2)) with t = x - 1."""
    huge = x > _HUGE[dtype]
    t = x - 1.0
    argument = select(huge, t, t + sqrt(t * (t + 2.0)))
    return select(x < 1.0, NAN, call("log1p", argument) + select(huge, LN2, 0.0))


@define("atanh", "float")
def atanh(x: Expr) -> Expr:
    """log1p(2 |x| / (1 - |x|)) / 2."""
    a = absolute(x)
    return copysign(0.5 * call("log1p", (a + a) / (1.0 - a)), x)


def _half_exp(a: Expr, dtype: str) -> Expr:
    offset = 2 * FORMATS[dtype].bias - 1
    inside = away_from_zero(limit(a, *EXP_RANGE[dtype]), dtype)
    shifted, p = exp_parts(inside, dtype, offset)
    return scale(p, shifted, dtype)


def _other_half(half: Expr, dtype: str) -> Expr:
    """exp(-|x|)/2 from exp(|x|)/2; not denormal where it does not matter."""
    end = _ONE_SIDED[dtype]
    return 0.25 / select(half > end, end, half)
