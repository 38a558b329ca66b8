"""Order and division of 64-bit numbers without sign, on the bits that an int64 holds.

Numbers of fewer bits need none of this: as int64 they have their own value.
"""

from __future__ import annotations

from ..expr import Expr, call
from ..registry import define
from .tools import eq, select

_LEAST = -(2**63)


def _ordered(x: Expr) -> Expr:
    """The number whose signed order is the unsigned order of the bits."""
    return x ^ _LEAST


@define("unsigned_less", "int")
def less(x: Expr, y: Expr) -> Expr:
    """x < y."""
    return _ordered(x) < _ordered(y)


@define("unsigned_maximum", "int")
def maximum(x: Expr, y: Expr) -> Expr:
    """The larger."""
    return select(less(x, y), y, x)


@define("unsigned_minimum", "int")
def minimum(x: Expr, y: Expr) -> Expr:
    """The smaller."""
    return select(less(y, x), y, x)


@define("unsigned_divide", "int")
def divide(x: Expr, y: Expr) -> Expr:
    """floor(x / y), 0 where y is 0: half of x over y is at most one short after doubling."""
    guess = call("truncdiv", call("shru", x, 1), y) << 1
    short = select(less(x - guess * y, y), 0, 1)
    huge = select(less(x, y), 0, 1)
    return select(eq(y, 0), 0, select(y < 0, huge, guess + short))


@define("unsigned_remainder", "int")
def remainder(x: Expr, y: Expr) -> Expr:
    """x - y floor(x / y), 0 where y is 0."""
    return select(eq(y, 0), 0, x - y * divide(x, y))


@define("unsigned_power", "int")
def power(x: Expr, y: Expr) -> Expr:
    """x**y, wrapping around: half of y fits a number with sign."""
    root = call("ipow", x, call("shru", y, 1))
    return root * root * select(eq(y & 1, 0), 1, x)
