"""exp and what follows from it."""

from __future__ import annotations

from ..expr import Expr, call
from ..registry import define
from .tools import MAGIC, bits, fma, frombits, horner, select

LOG2_E = 1.4426950408889634


@define("exp", "f32")
def exp_f32(x: Expr) -> Expr:
    """2**n * exp(r) with |r| <= log(2)/2; two scalings so that denormals are rounded once."""
    x = select(x > 89.0, 89.0, select(x < -104.0, -104.0, x))
    shifted = fma(x, LOG2_E, MAGIC["f32"])
    n = bits(shifted) - bits(call("f32", MAGIC["f32"]))
    count = shifted - MAGIC["f32"]
    r = fma(count, -0.693359375, x)
    r = fma(count, 2.12194440e-4, r)
    p = horner(r, _EXP_F32)
    p = fma(p, r * r, r) + 1.0
    half = n >> 1
    return p * frombits((half + 127) << 23) * frombits((n - half + 127) << 23)


_EXP_F32 = (
    5.0000001201e-1,
    1.6666665459e-1,
    4.1665795894e-2,
    8.3334519073e-3,
    1.3981999507e-3,
    1.9875691500e-4,
)


@define("sigmoid", "float")
def sigmoid(x: Expr) -> Expr:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + call("exp", -x))
