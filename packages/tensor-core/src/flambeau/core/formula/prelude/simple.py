"""Functions that are a line or two over the primitives."""

from __future__ import annotations

from ..expr import Expr, call
from ..registry import define
from .tools import INF, absolute, bits, eq, ne, select


@define("isnan", "float")
def isnan(x: Expr) -> Expr:
    """x is not a number."""
    return ne(x, x)


@define("isinf", "float")
def isinf(x: Expr) -> Expr:
    """x is inf or -inf."""
    return eq(absolute(x), INF)


@define("isfinite", "float")
def isfinite(x: Expr) -> Expr:
    """x is neither infinite nor nan."""
    return absolute(x) < INF


@define("signbit", "float")
def signbit(x: Expr) -> Expr:
    """The sign bit of x, also for zeros and nan."""
    return bits(x) < 0


@define("signbit", "int")
def signbit_int(x: Expr) -> Expr:
    """x < 0."""
    return x < 0


@define("fmax", "float")
def fmax(x: Expr, y: Expr) -> Expr:
    """The larger; the other where one is nan."""
    return select((x >= y) | ne(y, y), x, y)


@define("fmax", "int")
def fmax_int(x: Expr, y: Expr) -> Expr:
    """The larger."""
    return call("maximum", x, y)


@define("fmin", "float")
def fmin(x: Expr, y: Expr) -> Expr:
    """The smaller; the other where one is nan."""
    return select((x <= y) | ne(y, y), x, y)


@define("fmin", "int")
def fmin_int(x: Expr, y: Expr) -> Expr:
    """The smaller."""
    return call("minimum", x, y)


@define("clamp", "float", "int")
def clamp(x: Expr, low: Expr, high: Expr) -> Expr:
    """x limited to [low, high]; high wins where the bounds cross."""
    return call("minimum", call("maximum", x, low), high)


@define("clamp_min", "float", "int")
def clamp_min(x: Expr, low: Expr) -> Expr:
    """x, at least low."""
    return call("maximum", x, low)


@define("clamp_max", "float", "int")
def clamp_max(x: Expr, high: Expr) -> Expr:
    """x, at most high."""
    return call("minimum", x, high)


@define("square", "float", "int")
def square(x: Expr) -> Expr:
    """x * x."""
    return x * x


@define("reciprocal", "float")
def reciprocal(x: Expr) -> Expr:
    """1 / x."""
    return 1.0 / x


@define("sign", "float")
def sign(x: Expr) -> Expr:
    """-1, 0 or 1; 0 for nan."""
    return select(x > 0.0, 1.0, 0.0) - select(x < 0.0, 1.0, 0.0)


@define("sign", "int")
def sign_int(x: Expr) -> Expr:
    """-1, 0 or 1."""
    return select(x > 0, 1, 0) - select(x < 0, 1, 0)
