"""Small things every prelude file uses."""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import Expr, Operand, call

MAGIC = {"f32": float(3 << 22), "f64": float(3 << 51)}
"""Adding this rounds to the nearest integer, and leaves that integer in the low bits."""


def fma(a: Operand, b: Operand, c: Operand) -> Expr:
    """a * b + c, rounded once."""
    return call("fma", a, b, c)


def select(condition: Expr, a: Operand, b: Operand) -> Expr:
    """a where the condition holds, else b."""
    return call("select", condition, a, b)


def eq(a: Operand, b: Operand) -> Expr:
    """a == b, elementwise."""
    return call("eq", a, b)


def ne(a: Operand, b: Operand) -> Expr:
    """a != b, elementwise."""
    return call("ne", a, b)


def absolute(a: Operand) -> Expr:
    """|a|."""
    return call("abs", a)


def bits(a: Operand) -> Expr:
    """The bits of a float as an integer."""
    return call("bits", a)


def frombits(a: Operand) -> Expr:
    """The float with these bits."""
    return call("frombits", a)


def copysign(a: Operand, b: Operand) -> Expr:
    """Magnitude of a, sign of b."""
    return call("copysign", a, b)


def horner(x: Expr, coefficients: Sequence[float]) -> Expr:
    """The polynomial with these coefficients, constant term first."""
    total: Expr | float = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = fma(total, x, c)
    assert isinstance(total, Expr)
    return total
