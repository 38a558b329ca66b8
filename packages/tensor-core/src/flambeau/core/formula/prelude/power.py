"""Powers and roots."""

from __future__ import annotations

from collections.abc import Callable

from ..expr import Expr, call, const, is_const
from ..registry import define
from .coefficients import ATANH, ATANH5, EXP2_POWER
from .exponential import EXP_DENORMAL, exp_kernel, reduce
from .logarithm import split
from .tools import (
    FORMATS,
    INF,
    NAN,
    absolute,
    bits,
    eq,
    fma,
    frombits,
    horner,
    limit,
    mul_err,
    nearest,
    power_of_two,
    scale,
    select,
    sqrt,
)

_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10


@define("pow", "float")
def power(x: Expr, y: Expr, *, dtype: str) -> Expr:
    """x**y; the literals of ``SHORT_POWERS`` become products, quotients and roots."""
    for exponent, short in SHORT_POWERS.items():
        if is_const(y, exponent):
            return short(x)
    size = _power_f32(absolute(x), y) if dtype == "f32" else _power_f64(absolute(x), y)
    return _signed(x, y, size)


@define("pow", "int")
def power_int(x: Expr, y: Expr) -> Expr:
    """Repeated squaring, wrapping around; the literals 2 and 3 become products."""
    if is_const(y, 2):
        return x * x
    return x * x * x if is_const(y, 3) else call("ipow", x, y)


@define("rsqrt", "float")
def rsqrt(x: Expr) -> Expr:
    """1 / sqrt(x)."""
    return 1.0 / sqrt(x)


@define("hypot", "f32")
def hypot_f32(x: Expr, y: Expr) -> Expr:
    """sqrt(x**2 + y**2) in double precision."""
    a, b = call("f64", x), call("f64", y)
    return _infinite(x, y, call("f32", sqrt(a * a + b * b)))


@define("hypot", "f64")
def hypot_f64(x: Expr, y: Expr) -> Expr:
    """sqrt(x**2 + y**2), scaled by the power of two of the larger."""
    largest = call("maximum", absolute(x), absolute(y))
    exponent = limit_exponent((bits(largest) >> 52) - 1023)
    down, up = power_of_two(-exponent, "f64"), power_of_two(exponent, "f64")
    a, b = x * down, y * down
    return _infinite(x, y, sqrt(fma(a, a, b * b)) * up)


def limit_exponent(n: Expr) -> Expr:
    """An exponent n for which both 2**n and 2**-n are normal numbers."""
    return select(n > 1021, 1021, select(n < -1021, -1021, n))


def _infinite(x: Expr, y: Expr, value: Expr) -> Expr:
    return select(eq(absolute(x), INF) | eq(absolute(y), INF), INF, value)


#: Powers that have a shorter formula. As in PyTorch, those of -0 and -inf by 0.5 are what ``sqrt``
#: gives, not what a tensor of exponents does.
SHORT_POWERS: dict[float, Callable[[Expr], Expr]] = {
    0.0: lambda x: const(1.0),
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
    -1.0: lambda x: 1.0 / x,
    -2.0: lambda x: 1.0 / (x * x),
    0.5: sqrt,
    -0.5: lambda x: 1.0 / sqrt(x),
}


def _signed(x: Expr, y: Expr, size: Expr) -> Expr:
    """Give |x|**y its sign, and the values that hold whatever the other argument is."""
    whole = eq(call("rint", y), y)
    half = y * 0.5
    odd = whole & call("ne", call("rint", half), half)
    negative = bits(x) < 0
    value = select(negative & odd, -size, size)
    impossible = negative & ~whole & (absolute(x) < INF) & call("ne", x, 0.0)
    value = select(impossible, NAN, value)
    one = eq(y, 0.0) | eq(x, 1.0) | (eq(x, -1.0) & eq(absolute(y), INF))
    return select(one, 1.0, value)


def _power_f32(a: Expr, y: Expr) -> Expr:
    """exp2(y log2(a)) in double precision, which keeps ten bits to spare."""
    wide = call("f64", a)
    k, f = split_wide(wide)
    s = f / (2.0 + f)
    z = s * s
    log2 = fma(fma(s * z, horner(z, ATANH["f32"]), s + s), 1.4426950408889634, k)
    log2 = select(wide < INF, select(wide > 0.0, log2, -INF), wide)
    t = limit(call("f64", y) * log2, -200.0, 200.0)
    n, count = nearest(t, 1.0, "f64")
    r = t - count
    p = fma(r, horner(r, EXP2_POWER["f32"]), 1.0)
    return call("f32", p * power_of_two(n, "f64"))


def split_wide(x: Expr) -> tuple[Expr, Expr]:
    """As ``logarithm.split`` for double precision without denormals."""
    pattern = bits(x)
    k = (pattern - 0x3FE6A09E667F3BCD) >> 52
    magic = call("f64", float(3 << 51))
    return frombits(k + bits(magic)) - magic, frombits(pattern - (k << 52)) - 1.0


def _power_f64(a: Expr, y: Expr) -> Expr:
    """exp(y log(a)) with the logarithm and the product as sums of two doubles."""
    high, low = _log_pair(a)
    product = y * high
    rest = fma(y, low, mul_err(y, high))
    huge = ~(absolute(product) < 4000.0)
    rest = select(huge, 0.0, rest)
    shifted, r = reduce(limit(product, -1386.0, 1386.0), "f64", 2 * FORMATS["f64"].bias)
    return scale(exp_kernel(r + rest, "f64"), shifted, "f64", product < EXP_DENORMAL["f64"])


def _log_pair(a: Expr) -> tuple[Expr, Expr]:
    """log(a) as a double and what it lacks; the cubic term of the series is doubled as well."""
    k, f = split(a, "f64")
    divisor = 2.0 + f
    divisor_low = f - (divisor - 2.0)
    s = f / divisor
    rest = (f - s * divisor) - mul_err(s, divisor) - s * divisor_low
    s_low = rest / divisor
    z = s * s
    z_low = fma(s + s, s_low, mul_err(s, s))
    cube, cube_low = _times(s, s_low, z, z_low)
    two_thirds = const(0.6666666666666666)
    third, third_low = _times(cube, cube_low, two_thirds, 3.700743415417188e-17)
    fifth = cube * z * horner(z, ATANH5["f64"])
    high, low = _sum(2.0 * s, third)
    low = low + (2.0 * s_low + (third_low + fifth))
    k_high, k_rest = _sum(k * _LN2_HIGH, high)
    total, rest = _sum(k_high, k_rest + (low + k * _LN2_LOW))
    finite = a < INF
    total = select(finite, select(a > 0.0, total, -INF), a)
    return total, select(finite & (a > 0.0), rest, 0.0)


def _times(a: Expr, a_low: Expr, b: Expr, b_low: Expr | float) -> tuple[Expr, Expr]:
    """Product of two doubled numbers."""
    return a * b, mul_err(a, b) + fma(a, b_low, a_low * b)


def _sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """a + b and what it loses, for |a| >= |b| or a = 0."""
    total = a + b
    return total, b - (total - a)
