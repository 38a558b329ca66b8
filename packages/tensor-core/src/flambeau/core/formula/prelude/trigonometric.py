"""sin, cos and tan: the multiple of pi/2 is taken off in parts that multiply exactly.

Single precision is reduced in double precision. Sines and cosines stay in it to the end, since
rounding the remainder would lose an ulp; then one polynomial serves half a turn, and there is
nothing to choose. Beyond ``LIMIT`` the platform's library is asked, in double precision: the rare
case.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..expr import Expr, call, extern
from ..registry import define
from .coefficients import COS, SIN, TAN
from .tools import FORMATS, absolute, bits, eq, fma, frombits, horner, nearest, select

PI = 3.141592653589793
TWO_OVER_PI = 0.6366197723675814
#: pi/2 in parts; a 20-bit integer times any but the last is exact.
_HALF_PI = {
    "f32": (1.5707963267341256, 6.077100506506192e-11),
    "f64": (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21),
}
LIMIT = 2.0**20


@dataclass(frozen=True)
class _Angle:
    """r in [-pi/4, pi/4] and the bit that says whether to swap sine and cosine."""

    quadrant: Expr
    r: Expr

    def odd(self) -> Expr:
        """Whether the quadrant is odd."""
        return call("ne", self.quadrant & 1, 0)

    def negate(self, value: Expr, turn: int = 0) -> Expr:
        """The value, negated in the second half of the circle, after ``turn`` quarter turns."""
        return frombits(bits(value) ^ (((self.quadrant + turn) & 2) << 62))

    def sin(self) -> Expr:
        """sin(r)."""
        z = self.r * self.r
        return fma(self.r * z, horner(z, SIN["f64"]), self.r)

    def cos(self) -> Expr:
        """cos(r)."""
        z = self.r * self.r
        return fma(z * z, horner(z, COS["f64"]), fma(-0.5, z, 1.0))


@define("sin", "f32")
def sin_f32(x: Expr) -> Expr:
    """sin(r), negated for odd multiples of pi."""
    wide = call("f64", x)
    shifted = fma(wide, 1.0 / PI, FORMATS["f64"].magic)
    r = _without(wide, shifted - FORMATS["f64"].magic)
    return _beyond("sin", x, _half_turn(r, shifted), "f32")


@define("cos", "f32")
def cos_f32(x: Expr) -> Expr:
    """The sine of what is left of an odd multiple of pi/2."""
    wide = call("f64", x)
    shifted = fma(wide, 1.0 / PI, -0.5) + FORMATS["f64"].magic
    r = _without(wide, (shifted - FORMATS["f64"].magic) + 0.5)
    return _beyond("cos", x, _half_turn(-r, shifted), "f32")


def _without(wide: Expr, turns: Expr) -> Expr:
    """What is left of an angle after so many half turns."""
    for part in _HALF_PI["f32"]:
        wide = fma(turns, -2.0 * part, wide)
    return wide


def _half_turn(r: Expr, shifted: Expr) -> Expr:
    """sin(r) for |r| <= pi/2, with the sign of (-1)**n; n stands in the low bits."""
    z = r * r
    value = r * fma(z, horner(z, SIN["f32"]), 1.0)
    return call("f32", frombits(bits(value) ^ (bits(shifted) << 63)))


@define("sin", "f64")
def sin_f64(x: Expr) -> Expr:
    """Sine or cosine of r, with the quadrant's sign."""
    angle = _reduce(x, "f64")
    value = angle.negate(select(angle.odd(), angle.cos(), angle.sin()))
    return _beyond("sin", x, select(eq(x, 0.0), x, value), "f64")


@define("cos", "f64")
def cos_f64(x: Expr) -> Expr:
    """Sine a quarter turn further."""
    angle = _reduce(x, "f64")
    value = angle.negate(select(angle.odd(), angle.sin(), angle.cos()), 1)
    return _beyond("cos", x, value, "f64")


@define("tan", "f32")
def tan_f32(x: Expr) -> Expr:
    """tan(r) or -1 / tan(r)."""
    angle = _reduce(x, "f32")
    r = call("f32", angle.r)
    z = r * r
    t = fma(r * z, horner(z, TAN["f32"]), r)
    odd = call("ne", call("i32", angle.quadrant) & 1, 0)
    return _beyond("tan", x, select(odd, -1.0 / t, t), "f32")


@define("tan", "f64")
def tan_f64(x: Expr) -> Expr:
    """sin(r) / cos(r) or -cos(r) / sin(r)."""
    angle = _reduce(x, "f64")
    s, c = angle.sin(), angle.cos()
    odd = angle.odd()
    value = select(odd, -c, s) / select(odd, s, c)
    return _beyond("tan", x, select(eq(x, 0.0), x, value), "f64")


def _reduce(x: Expr, dtype: str) -> _Angle:
    wide = call("f64", x)
    n, count = nearest(wide, TWO_OVER_PI, "f64")
    r = wide
    for part in _HALF_PI[dtype]:
        r = fma(count, -part, r)
    return _Angle(n, r)


def _beyond(name: str, x: Expr, fast: Expr, dtype: str) -> Expr:
    slow = call(dtype, extern(name, call("f64", x)))
    return call("rare", absolute(x) > LIMIT, slow, fast)
