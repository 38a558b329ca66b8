"""The logarithm of the gamma function and its derivatives."""

from __future__ import annotations

from ..expr import Expr, Operand, call, extern
from ..registry import define
from .tools import INF, NAN, absolute, bits, eq, horner, select

PI = 3.141592653589793
#: The asymptotic series holds from here.
_START = 10.0
#: B(2n) / (2n) for digamma, and B(2n) for trigamma.
_DIGAMMA = (
    1.0 / 12,
    -1.0 / 120,
    1.0 / 252,
    -1.0 / 240,
    1.0 / 132,
    -691.0 / 32760,
    1.0 / 12,
)
_TRIGAMMA = (
    1.0 / 6,
    -1.0 / 30,
    1.0 / 42,
    -1.0 / 30,
    5.0 / 66,
    -691.0 / 2730,
    7.0 / 6,
)
#: log(2 pi) / 2, and B(2n) / (2n (2n - 1)).
_HALF_LOG_TAU = 0.9189385332046727
_STIRLING = (
    1.0 / 12,
    -1.0 / 360,
    1.0 / 1260,
    -1.0 / 1680,
    1.0 / 1188,
    -691.0 / 360360,
    1.0 / 156,
)


@define("lgamma", "f64")
def lgamma_f64(x: Expr) -> Expr:
    """log|Gamma(x)|, by the platform's library."""
    return extern("lgamma", x)


@define("lgamma", "f32")
def lgamma_f32(x: Expr) -> Expr:
    """In double precision: reflected to y >= 1/2, y moved up to 8 or more by the recurrence, then
    Stirling's series. Its absolute error of some 1e-15 is small enough beside single precision's
    last digit next to all zeros.
    """
    wide = call("f64", x)
    reflect = wide < 0.5
    y = select(reflect, 1.0 - wide, wide)
    product: Operand = 1.0
    for _ in range(8):
        low = y < 8.0
        product = product * select(low, y, 1.0)
        y = select(low, y + 1.0, y)
    z = 1.0 / y
    stirling = (y - 0.5) * call("log", y) - y + _HALF_LOG_TAU + z * horner(z * z, _STIRLING)
    fraction = wide - call("rint", wide)
    sine = absolute(call("sin", PI * fraction))
    rest = call("log", select(reflect, PI * product / sine, product))
    value = select(reflect, rest - stirling, stirling - rest)
    pole = (reflect & eq(fraction, 0.0)) | eq(absolute(wide), INF)
    return call("f32", select(pole, INF, value))


@define("digamma", "f32")
def digamma_f32(x: Expr) -> Expr:
    """The double-precision function, rounded."""
    return call("f32", call("digamma", call("f64", x)))


@define("digamma", "f64")
def digamma_f64(x: Expr) -> Expr:
    """Reflected to x >= 0, shifted up to 10 by the recurrence, then the asymptotic series."""
    reflect = x < 0.0
    shift: Operand = 0.0
    y = select(reflect, 1.0 - x, x)
    for _ in range(int(_START)):
        low = y < _START
        shift = shift + select(low, 1.0 / y, 0.0)
        y = select(low, y + 1.0, y)
    z = 1.0 / (y * y)
    value = call("log", y) - 0.5 / y - z * horner(z, _DIGAMMA) - shift
    fraction = x - call("rint", x)
    value = select(reflect, value - PI / call("tan", PI * fraction), value)
    pole = select(bits(x) < 0, INF, -INF)
    value = select(eq(x, 0.0), pole, select(reflect & eq(fraction, 0.0), NAN, value))
    return select(eq(x, INF), INF, value)


@define("trigamma", "f32")
def trigamma_f32(x: Expr) -> Expr:
    """The double-precision function, rounded."""
    return call("f32", call("trigamma", call("f64", x)))


@define("trigamma", "f64")
def trigamma_f64(x: Expr) -> Expr:
    """The derivative of digamma, in the same way."""
    reflect = x < 0.5
    shift: Operand = 0.0
    y = select(reflect, 1.0 - x, x)
    for _ in range(int(_START)):
        low = y < _START
        shift = shift + select(low, 1.0 / (y * y), 0.0)
        y = select(low, y + 1.0, y)
    z = 1.0 / (y * y)
    value = shift + (1.0 / y + 0.5 * z + z / y * horner(z, _TRIGAMMA))
    sine = call("sin", PI * (x - call("rint", x))) / PI
    return select(reflect, 1.0 / (sine * sine) - value, value)
