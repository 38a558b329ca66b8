"""Complex functions, from real ones of the parts."""

from __future__ import annotations

from ..expr import Expr, call, const
from ..parts import Pair
from ..registry import define
from .tools import absolute, copysign, eq, select, sqrt

LN2 = 0.6931471805599453


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
    size = call("hypot", z.re, z.im)
    zero = eq(size, 0.0)
    return Pair(select(zero, 0.0, z.re / size), select(zero, 0.0, z.im / size))


@define("square", "complex")
def square(z: Pair) -> Pair:
    """z * z."""
    return z * z


@define("reciprocal", "complex")
def reciprocal(z: Pair) -> Pair:
    """1 / z."""
    return Pair(const(1.0), const(0.0)) / z


@define("exp", "complex")
def exp(z: Pair) -> Pair:
    """exp(re) (cos(im) + i sin(im)); a zero imaginary part stays zero."""
    size = call("exp", z.re)
    im = select(eq(z.im, 0.0), z.im, size * call("sin", z.im))
    return Pair(size * call("cos", z.im), im)


@define("log", "complex")
def log(z: Pair) -> Pair:
    """log|z| + i angle(z); accurate where |z| is near one."""
    a, b = absolute(z.re), absolute(z.im)
    large, small = call("maximum", a, b), call("minimum", a, b)
    size = call("hypot", z.re, z.im)
    near = (size > 0.5) & (size < 2.0)
    short = 0.5 * call("log1p", (large - 1.0) * (large + 1.0) + small * small)
    return Pair(select(near, short, call("log", size)), call("atan2", z.im, z.re))


@define("sqrt", "complex")
def square_root(z: Pair) -> Pair:
    """The root in the right half plane; scaled down where |z| might overflow."""
    size = call("hypot", z.re * 0.25, z.im * 0.25)
    t = 2.0 * sqrt(0.5 * (size + absolute(z.re) * 0.25))
    other = select(eq(t, 0.0), 0.0, absolute(z.im) / (2.0 * t))
    right = call("signbit", z.re)
    return Pair(select(right, other, t), copysign(select(right, t, other), z.im))


@define("rsqrt", "complex")
def rsqrt(z: Pair) -> Pair:
    """1 / sqrt(z)."""
    return reciprocal(square_root(z))


@define("sinh", "complex")
def sinh(z: Pair) -> Pair:
    """sinh(re) cos(im) + i cosh(re) sin(im)."""
    return Pair(
        call("sinh", z.re) * call("cos", z.im),
        call("cosh", z.re) * call("sin", z.im),
    )


@define("cosh", "complex")
def cosh(z: Pair) -> Pair:
    """cosh(re) cos(im) + i sinh(re) sin(im)."""
    return Pair(
        call("cosh", z.re) * call("cos", z.im),
        call("sinh", z.re) * call("sin", z.im),
    )


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
    return Pair(
        select(far, copysign(1.0, z.re), beta * rho * s * scale),
        select(far, limit, t * scale),
    )


@define("sin", "complex")
def sin(z: Pair) -> Pair:
    """sin(z) = -i sinh(i z)."""
    w = sinh(Pair(-z.im, z.re))
    return Pair(w.im, -w.re)


@define("cos", "complex")
def cos(z: Pair) -> Pair:
    """cos(z) = cosh(i z)."""
    return cosh(Pair(-z.im, z.re))


@define("tan", "complex")
def tan(z: Pair) -> Pair:
    """tan(z) = -i tanh(i z)."""
    w = tanh(Pair(-z.im, z.re))
    return Pair(w.im, -w.re)


@define("sigmoid", "complex")
def sigmoid(z: Pair) -> Pair:
    """1 / (1 + exp(-z))."""
    one = Pair(const(1.0), const(0.0))
    return one / (one + exp(-z))


@define("pow", "complex")
def power(z: Pair, w: Pair) -> Pair:
    """exp(w log(z)); 1 for w = 0, 0 for z = 0 and a positive real part of w."""
    value = exp(w * log(z))
    none = eq(w.re, 0.0) & eq(w.im, 0.0)
    zero = eq(z.re, 0.0) & eq(z.im, 0.0) & (w.re > 0.0)
    return Pair(
        select(none, 1.0, select(zero, 0.0, value.re)),
        select(none | zero, 0.0, value.im),
    )
