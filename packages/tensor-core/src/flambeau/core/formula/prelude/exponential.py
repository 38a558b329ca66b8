"""exp, exp2 and expm1: a power of two times a polynomial on |r| <= log(2) / 2."""

from __future__ import annotations

from ..expr import Expr
from ..registry import define
from .coefficients import EXP, EXPM1
from .tools import (
    FORMATS,
    absolute,
    away_from_zero,
    fma,
    horner,
    limit,
    lower,
    nearest_sum,
    power_in,
    scale,
    select,
)

LOG2_E = 1.4426950408889634
LN2 = 0.6931471805599453
#: log(2) in two parts; n times the first is exact.
LN2_PARTS = {
    "f32": (0.693359375, -2.1219444005469057e-4),
    "f64": (6.93147180369123816490e-01, 1.90821492927058770002e-10),
}
#: exp is 0 below and inf above. Below it is so by far: Intel's processors take a hundred cycles to
#: find that a product is 0 if it is less than 2**10 times too small.
EXP_RANGE = {"f32": (-112.0, 90.0), "f64": (-756.0, 711.0)}
#: exp is denormal below.
EXP_DENORMAL = {"f32": -87.34, "f64": -708.4}
#: Below the first, exp(x) - 1 is -1; at the second it is infinite.
_EXPM1_RANGE = {"f32": (-18.0, 89.0), "f64": (-40.0, 710.0)}
_EXP2_RANGE = {"f32": (-162.0, 129.0), "f64": (-1090.0, 1025.0)}
#: Raised by this power of two, no exp of a negative number is denormal.
_RAISE = {"f32": 64, "f64": 512}
_EXPM1_TINY = {"f32": 2.0**-25, "f64": 2.0**-54}


@define("exp", "float")
def exp(x: Expr, *, dtype: str) -> Expr:
    """2**n * exp(r)."""
    inside = away_from_zero(limit(x, *EXP_RANGE[dtype]), dtype)
    shifted, p = exp_parts(inside, dtype, 2 * FORMATS[dtype].bias)
    return scale(p, shifted, dtype, x < EXP_DENORMAL[dtype])


@define("exp2", "float")
def exp2(x: Expr, *, dtype: str) -> Expr:
    """2**n * exp(r log(2)), r being exact."""
    denormal = x < 1.0 - FORMATS[dtype].bias
    x = away_from_zero(limit(x, *_EXP2_RANGE[dtype]), dtype)
    shifted, count = nearest_sum(x, 1.0, dtype, 2 * FORMATS[dtype].bias)
    return scale(exp_kernel((x - count) * LN2, dtype), shifted, dtype, denormal)


@define("expm1", "float")
def expm1(x: Expr, *, dtype: str) -> Expr:
    """2**n * (exp(r) - 1) + (2**n - 1), at half the size so that nothing overflows early."""
    inside = away_from_zero(limit(x, *_EXPM1_RANGE[dtype]), dtype)
    shifted, r = reduce(inside, dtype, FORMATS[dtype].bias - 1)
    q = fma(horner(r, EXPM1[dtype]), r * r, r)
    half_power = power_in(shifted, dtype)
    value = 2.0 * fma(half_power, q, half_power - 0.5)
    return select(absolute(x) < _EXPM1_TINY[dtype], x, value)


def exp_parts(x: Expr, dtype: str, offset: int) -> tuple[Expr, Expr]:
    """A sum that holds n plus an offset, and p, with exp(x) = 2**n * p; x is in ``EXP_RANGE``."""
    shifted, r = reduce(x, dtype, offset)
    return shifted, exp_kernel(r, dtype)


def exp_small(x: Expr, dtype: str) -> Expr:
    """exp(x) where neither x nor the result is anywhere near the limits; nan stays nan."""
    shifted, p = exp_parts(x, dtype, FORMATS[dtype].bias)
    return p * power_in(shifted, dtype)


def exp_raised(x: Expr, dtype: str, up: int | None = None) -> tuple[Expr, float]:
    """exp(x) times a power of two, for x <= 20, and what to multiply it by to have exp(x).

    No result is denormal, zero standing for those that would be, which are none unless the power
    is given; nan stays nan.
    """
    up = _RAISE[dtype] if up is None else up
    low = -(FORMATS[dtype].bias + up) * LN2             # the bits of this power of two are 0
    inside = away_from_zero(select(x < low, low, x), dtype)
    shifted, p = exp_parts(inside, dtype, FORMATS[dtype].bias + up)
    return p * power_in(shifted, dtype), 2.0**-up


def exp_falling(x: Expr, dtype: str) -> Expr:
    """exp(x) for x <= 0, without what only growth needs; nan stays nan."""
    raised, down = exp_raised(x, dtype)
    return lower(raised, down, x < EXP_DENORMAL[dtype], dtype)


def reduce(x: Expr, dtype: str, offset: int) -> tuple[Expr, Expr]:
    """A sum that holds n plus an offset, and r, with x = n log(2) + r."""
    high, low = LN2_PARTS[dtype]
    shifted, count = nearest_sum(x, LOG2_E, dtype, offset)
    return shifted, fma(count, -low, fma(count, -high, x))


def exp_kernel(r: Expr, dtype: str) -> Expr:
    """exp(r) for |r| <= log(2) / 2."""
    return fma(horner(r, EXP[dtype]), r * r, r) + 1.0
