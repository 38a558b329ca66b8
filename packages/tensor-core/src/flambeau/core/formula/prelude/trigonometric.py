"""sin, cos and tan: the multiple of pi/2 is taken off in parts that multiply exactly.

Single precision is reduced in double precision. Beyond ``LIMIT`` the platform's library is
asked, in double precision: the rare case.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..expr import Expr, call, extern
from ..registry import define
from .coefficients import COS, SIN, TAN
from .tools import absolute, bits, eq, fma, frombits, horner, nearest, select

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
    dtype: str

    def odd(self, turn: int = 0) -> Expr:
        """Whether the quadrant, after ``turn`` more quarter turns, is odd."""
        return call("ne", (self.quadrant + turn) & 1, 0)

    def negate(self, value: Expr, turn: int = 0) -> Expr:
        """The value, negated in the second half of the circle."""
        sign = ((self.quadrant + turn) & 2) << (30 if self.dtype == "f32" else 62)
        return frombits(bits(value) ^ sign)

    def sin(self) -> Expr:
        """sin(r)."""
        z = self.r * self.r
        return fma(self.r * z, horner(z, SIN[self.dtype]), self.r)

    def cos(self) -> Expr:
        """cos(r)."""
        z = self.r * self.r
        return fma(z * z, horner(z, COS[self.dtype]), fma(-0.5, z, 1.0))


@define("sin", "float")
def sin(x: Expr, *, dtype: str) -> Expr:
    """Sine or cosine of r, with the quadrant's sign."""
    angle = _reduce(x, dtype)
    value = angle.negate(select(angle.odd(), angle.cos(), angle.sin()))
    return _beyond("sin", x, select(eq(x, 0.0), x, value), dtype)


@define("cos", "float")
def cos(x: Expr, *, dtype: str) -> Expr:
    """Sine a quarter turn further."""
    angle = _reduce(x, dtype)
    value = angle.negate(select(angle.odd(), angle.sin(), angle.cos()), 1)
    return _beyond("cos", x, value, dtype)


@define("tan", "f32")
def tan_f32(x: Expr) -> Expr:
    """tan(r) or -1 / tan(r)."""
    angle = _reduce(x, "f32")
    r = angle.r
    z = r * r
    t = fma(r * z, horner(z, TAN["f32"]), r)
    return _beyond("tan", x, select(angle.odd(), -1.0 / t, t), "f32")


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
    if dtype == "f32":
        return _Angle(call("i32", n), call("f32", r), dtype)
    return _Angle(n, r, dtype)


def _beyond(name: str, x: Expr, fast: Expr, dtype: str) -> Expr:
    slow = call(dtype, extern(name, call("f64", x)))
    return call("rare", absolute(x) > LIMIT, slow, fast)
