"""Complex exponentials, logarithms and hyperbolic functions, from real ones of the parts.

Zero and infinite parts follow C's annex G: a real argument gives a real result, and infinity
times the sine of zero is zero.
"""

from __future__ import annotations

from collections.abc import Callable

from ..expr import Expr, call, const, is_const
from ..parts import Pair
from ..registry import define
from .complex import (
    is_zero,
    over_i,
    reciprocal,
    rsqrt,
    scaled,
    square,
    square_root,
    times_i,
)
from .tools import INF, absolute, copysign, eq, mul_err, select, sqrt

LN2 = 0.6931471805599453
LN10 = 2.302585092994046
#: exp(x) is taken as exp(x - SHIFT) * exp(SHIFT) beyond, since a product with it may still be
#: finite.
SHIFT = 700.0
EXP_SHIFT = 1.0142320547350045e304


def _exp_parts(x: Expr) -> tuple[Expr, Expr]:
    """Two factors whose product is exp(x)."""
    large = x > SHIFT
    return call("exp", select(large, x - SHIFT, x)), select(large, EXP_SHIFT, 1.0)


def _finite(x: Expr) -> Expr:
    return absolute(x) < INF


@define("exp", "complex")
def exp(z: Pair) -> Pair:
    """exp(re) (cos(im) + i sin(im)); a zero imaginary part stays zero."""
    size, rest = _exp_parts(z.re)
    none = eq(z.re, -INF) & ~_finite(z.im)
    re = select(none, 0.0, size * call("cos", z.im) * rest)
    im = select(none, copysign(0.0, z.im), size * call("sin", z.im) * rest)
    endless = eq(z.re, INF) & ~_finite(z.im)
    return Pair(select(endless, INF, re), select(eq(z.im, 0.0), z.im, im))


@define("exp2", "complex")
def exp2(z: Pair) -> Pair:
    """2**re (cos + i sin)(im ln 2)."""
    size = call("exp2", z.re)
    turn = z.im * LN2
    im = select(eq(z.im, 0.0), z.im, size * call("sin", turn))
    return Pair(size * call("cos", turn), im)


@define("expm1", "complex")
def expm1(z: Pair) -> Pair:
    """exp(z) - 1 without cancellation near zero."""
    w = exp(z)
    s = call("sin", 0.5 * z.im)
    near = absolute(z.re) < 1.0
    short = call("expm1", z.re) * call("cos", z.im) - 2.0 * s * s
    return Pair(select(near, short, w.re - 1.0), w.im)


def _log_size(z: Pair) -> Expr:
    """log|z|, accurate where |z| is near one."""
    a, b = absolute(z.re), absolute(z.im)
    large, small = call("maximum", a, b), call("minimum", a, b)
    p, q = large * large, small * small
    short = 0.5 * call("log1p", ((p - 1.0) + q) + (mul_err(large, large) + mul_err(small, small)))
    w, is_large, is_small = scaled(z)
    shift = select(is_large, 600.0 * LN2, select(is_small, -600.0 * LN2, 0.0))
    size = call("hypot", w.re, w.im)
    near = (size > 0.5) & (size < 2.0) & eq(shift, 0.0)
    return select(near, short, call("log", size) + shift)


@define("log", "complex")
def log(z: Pair) -> Pair:
    """log|z| + i angle(z)."""
    return Pair(_log_size(z), call("atan2", z.im, z.re))


@define("log2", "complex")
def log2(z: Pair) -> Pair:
    """log(z) / log(2)."""
    return log(z).scale(1.0 / LN2)


@define("log10", "complex")
def log10(z: Pair) -> Pair:
    """log(z) / log(10)."""
    return log(z).scale(1.0 / LN10)


@define("log1p", "complex")
def log1p(z: Pair) -> Pair:
    """log(1 + z), accurate near zero."""
    one_more = Pair(1.0 + z.re, z.im)
    near = (absolute(z.re) < 0.5) & (absolute(z.im) < 0.5)
    short = 0.5 * call("log1p", (2.0 * z.re + z.im * z.im) + z.re * z.re)
    angle = call("atan2", z.im, one_more.re)
    return Pair(select(near, short, _log_size(one_more)), angle)


@define("sigmoid", "complex")
def sigmoid(z: Pair) -> Pair:
    """1 / (1 + exp(-z)), with the exponential of whichever side does not grow."""
    right = z.re >= 0.0
    w = exp(Pair(-absolute(z.re), select(right, -z.im, z.im)))
    top = Pair(select(right, 1.0, w.re), select(right, 0.0, w.im))
    return top / Pair(1.0 + w.re, w.im)


@define("silu", "complex")
def silu(z: Pair) -> Pair:
    """z sigmoid(z)."""
    return z * sigmoid(z)


@define("pow", "complex")
def power(z: Pair, w: Pair) -> Pair:
    """exp(w log(z)); exact squares; 1 for w = 0, 0 for z = 0 and a positive real part of w.

    Literals become products, quotients and roots, as in powers of real numbers.
    """
    for exponent, short in SHORT_POWERS.items():
        if is_const(w.re, exponent) and is_const(w.im, 0.0):
            return short(z)
    value = exp(w * log(z))
    twice = square(z)
    two = eq(w.re, 2.0) & eq(w.im, 0.0)
    one = is_zero(w)
    zero = is_zero(z) & (w.re > 0.0)
    re = select(one, 1.0, select(zero, 0.0, select(two, twice.re, value.re)))
    im = select(one | zero, 0.0, select(two, twice.im, value.im))
    return Pair(re, im)


#: The exponents are those of real powers.
SHORT_POWERS: dict[float, Callable[[Pair], Pair]] = {
    0.0: lambda z: Pair(const(1.0), const(0.0)),
    1.0: lambda z: z,
    2.0: square,
    3.0: lambda z: z * z * z,
    -1.0: reciprocal,
    -2.0: lambda z: reciprocal(z * z),
    0.5: square_root,
    -0.5: rsqrt,
}


def _hyperbolic(x: Expr) -> tuple[Expr, Expr, Expr]:
    """sinh, cosh and a factor that both want; for large x half of exp(|x|) stands for both."""
    a = absolute(x)
    large = a > SHIFT
    e = call("exp", select(large, a - SHIFT, 0.0))
    sinh = select(large, copysign(e, x), call("sinh", x))
    cosh = select(large, e, call("cosh", x))
    return sinh, cosh, select(large, 0.5 * EXP_SHIFT, 1.0)


@define("sinh", "complex")
def sinh(z: Pair) -> Pair:
    """sinh(re) cos(im) + i cosh(re) sin(im)."""
    s, c, rest = _hyperbolic(z.re)
    still = eq(z.re, 0.0) & ~_finite(z.im)
    re = select(still, z.re, s * call("cos", z.im) * rest)
    im = select(eq(z.im, 0.0), z.im, c * call("sin", z.im) * rest)
    endless = eq(absolute(z.re), INF) & ~_finite(z.im)
    return Pair(select(endless, z.re, re), im)


@define("cosh", "complex")
def cosh(z: Pair) -> Pair:
    """cosh(re) cos(im) + i sinh(re) sin(im)."""
    s, c, rest = _hyperbolic(z.re)
    re = c * call("cos", z.im) * rest
    im = s * call("sin", z.im) * rest
    zero = eq(z.re, 0.0) | eq(z.im, 0.0)
    turn = select(_finite(z.im), call("sin", z.im), z.im)
    sign = copysign(1.0, z.re) * copysign(1.0, turn)
    endless = eq(absolute(z.re), INF) & ~_finite(z.im)
    return Pair(select(endless, INF, re), select(zero, copysign(0.0, sign), im))


@define("tanh", "complex")
def tanh(z: Pair) -> Pair:
    """By Kahan's formula over tan(im) and sinh(re); the limit where sinh is large."""
    t, s = call("tan", z.im), call("sinh", z.re)
    far = absolute(z.re) > 20.0
    s = select(far, 1.0, s)
    beta = 1.0 + t * t
    rho = sqrt(1.0 + s * s)
    scale = 1.0 / (1.0 + beta * s * s)
    decay = call("exp", -2.0 * absolute(z.re))
    limit = 4.0 * call("sin", z.im) * call("cos", z.im) * decay
    limit = select(eq(decay, 0.0), copysign(0.0, select(_finite(z.im), limit, z.im)), limit)
    near = select(eq(z.re, 0.0), z.re, beta * rho * s * scale)
    im = select(far, limit, t * scale)
    endless = far & (eq(absolute(z.re), INF) | _finite(z.im))
    return Pair(
        select(endless, copysign(1.0, z.re), select(far, t, near)),
        select(eq(z.im, 0.0), z.im, select(far & ~endless, t, im)),
    )


@define("sin", "complex")
def sin(z: Pair) -> Pair:
    """sin(z) = -i sinh(i z)."""
    return over_i(sinh(times_i(z)))


@define("cos", "complex")
def cos(z: Pair) -> Pair:
    """cos(z) = cosh(i z)."""
    return cosh(times_i(z))


@define("tan", "complex")
def tan(z: Pair) -> Pair:
    """tan(z) = -i tanh(i z)."""
    return over_i(tanh(times_i(z)))
