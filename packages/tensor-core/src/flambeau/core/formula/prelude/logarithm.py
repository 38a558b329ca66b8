"""Logarithms: x = 2**k * (1 + f), then log(1 + f) as f plus a small correction."""

from __future__ import annotations

from ..expr import Expr
from ..registry import define
from .coefficients import ATANH, LOG1P
from .exponential import LN2_PARTS
from .tools import (
    FORMATS,
    INF,
    NAN,
    absolute,
    away_from_zero,
    bits,
    eq,
    fma,
    frombits,
    horner,
    mul_err,
    power_of_two,
    select,
    to_float,
)

#: Bits of sqrt(1/2), where the mantissa's range begins.
_ROOT_HALF = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}
#: log1p(x) = x where |x| is smaller.
_LOG1P_TINY = {"f32": 2.0**-30, "f64": 2.0**-54}
#: 1 / log(base) in two parts, by base and precision.
_SCALE = {
    (2, "f32"): (1.4426950216293335, 1.9259629911266175e-08),
    (2, "f64"): (1.4426950408889634, 2.0355273740931033e-17),
    (10, "f32"): (0.4342944920063019, -1.0103050052231683e-08),
    (10, "f64"): (0.4342944819032518, 1.098319650216765e-17),
}
#: log10(2) in two parts; an exponent times the first is exact.
_LOG10_2 = {
    "f32": (0.301025390625, 4.605038981195214e-06),
    "f64": (0.301029995663157, 8.241712586023572e-13),
}


@define("log", "float")
def log(x: Expr, *, dtype: str) -> Expr:
    """k log(2) + log(1 + f)."""
    k, f = split(x, dtype)
    return special(x, assemble(k, f, tail(f, dtype), dtype))


@define("log1p", "float")
def log1p(x: Expr, *, dtype: str) -> Expr:
    """log of 1 + x, with what the sum loses put back into f."""
    tiny = absolute(x) < _LOG1P_TINY[dtype]
    inside = away_from_zero(x, dtype)
    u = 1.0 + inside
    back = u - 1.0
    lost = (1.0 - (u - back)) + (inside - back)
    k, f = split_normal(u, dtype)
    f = f + lost * power_of_two(-select(k > 100, 100, k), dtype)
    value = assemble(to_float(k, dtype), f, tail(f, dtype), dtype)
    value = select(eq(x, -1.0), -INF, select(tiny, x, value))
    return select(x < INF, select(x < -1.0, NAN, value), x)


@define("log2", "float")
def log2(x: Expr, *, dtype: str) -> Expr:
    """k + log(1 + f) / log(2)."""
    k, f = split(x, dtype)
    high, low = scaled(f, dtype, 2)
    return special(x, (k + high) + low)


@define("log10", "float")
def log10(x: Expr, *, dtype: str) -> Expr:
    """k log10(2) + log(1 + f) / log(10)."""
    k, f = split(x, dtype)
    high, low = scaled(f, dtype, 10)
    k_high, k_low = (k * part for part in _LOG10_2[dtype])
    return special(x, (k_high + high) + (k_low + low))


def split(x: Expr, dtype: str) -> tuple[Expr, Expr]:
    """k (as a float) and f with x = 2**k * (1 + f), for any positive x."""
    form = FORMATS[dtype]
    denormal = x < form.normal
    k, f = split_normal(select(denormal, x * 2.0 ** (form.mantissa + 2), x), dtype)
    return to_float(k, dtype) - select(denormal, float(form.mantissa + 2), 0.0), f


def split_normal(x: Expr, dtype: str) -> tuple[Expr, Expr]:
    """k (as an integer) and f with x = 2**k * (1 + f), sqrt(1/2) <= 1 + f < sqrt(2)."""
    form = FORMATS[dtype]
    pattern = bits(x)
    k = (pattern - _ROOT_HALF[dtype]) >> form.mantissa
    return k, frombits(pattern - (k << form.mantissa)) - 1.0


def tail(f: Expr, dtype: str) -> Expr:
    """log(1 + f) - f."""
    square = f * f
    if dtype == "f32":
        return fma(-0.5, square, f * square * horner(f, LOG1P[dtype]))
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * square
    return s * fma(z, horner(z, ATANH[dtype]), half) - half


def assemble(k: Expr, f: Expr, rest: Expr, dtype: str) -> Expr:
    """k log(2) + f + rest."""
    high, low = LN2_PARTS[dtype]
    return fma(k, high, f + fma(k, low, rest))


def scaled(f: Expr, dtype: str, base: int) -> tuple[Expr, Expr]:
    """log(1 + f) / log(base) as a large and a small part."""
    high, low = _SCALE[base, dtype]
    return f * high, mul_err(f, high) + fma(f, low, tail(f, dtype) * high)


def special(x: Expr, value: Expr) -> Expr:
    """The logarithm's values at 0, below 0, at inf and nan."""
    return select(x < INF, select(x > 0.0, value, select(x < 0.0, NAN, -INF)), x)
