"""Small things every prelude file uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..expr import Expr, Operand, call

INF = float("inf")
NAN = float("nan")


@dataclass(frozen=True)
class Format:
    """Facts about a precision: integer type, mantissa bits, exponent bias, rounding constant.

    Adding ``magic`` rounds a small number to the nearest integer, which then stands in the low
    bits of the sum. ``normal`` is the smallest number that is not denormal. ``negligible`` changes
    no sum with a number of which 1 can tell: see ``away_from_zero``.
    """

    integer: str
    mantissa: int
    bias: int
    magic: float
    normal: float
    negligible: float


FORMATS = {
    "f32": Format("i32", 23, 127, float(3 << 22), 2.0**-126, 2.0**-60),
    "f64": Format("i64", 52, 1023, float(3 << 51), 2.0**-1022, 2.0**-110),
}


def fma(a: Operand, b: Operand, c: Operand) -> Expr:
    """a * b + c, rounded once."""
    return call("fma", a, b, c)


def mul_err(a: Operand, b: Operand) -> Expr:
    """What a * b loses by rounding."""
    return call("mul_err", a, b)


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


def sqrt(a: Operand) -> Expr:
    """Square root."""
    return call("sqrt", a)


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
    total: Operand = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = fma(total, x, c)
    assert isinstance(total, Expr)
    return total


def even_odd(x: Expr, coefficients: Sequence[float]) -> Expr:
    """The same polynomial as two shorter chains, for when the wait for each step shows."""
    square = x * x
    return fma(x, horner(square, coefficients[1::2]), horner(square, coefficients[::2]))


def limit(x: Expr, low: float, high: float) -> Expr:
    """x between two bounds; nan stays nan."""
    x = select(x < low, low, x)
    return select(x > high, high, x)


def nearest(x: Expr, factor: float, dtype: str) -> tuple[Expr, Expr]:
    """The integer nearest to x * factor: as an integer of the same width and as a float."""
    magic = FORMATS[dtype].magic
    shifted = fma(x, factor, magic)
    return bits(shifted) - bits(call(dtype, magic)), shifted - magic


def nearest_sum(x: Expr, factor: float, dtype: str, offset: int) -> tuple[Expr, Expr]:
    """The integer nearest to x * factor: with an offset in the low bits of a float, and as a float.

    What else these bits are is shifted out where they become an exponent. Offsets are even where
    the product may be halfway between two integers.
    """
    magic = FORMATS[dtype].magic + offset
    shifted = fma(x, factor, magic)
    return shifted, shifted - magic


def to_float(n: Expr, dtype: str) -> Expr:
    """A small integer as a float of the same width."""
    if dtype == "f32":
        return call("f32", n)
    magic = call("f64", FORMATS["f64"].magic)
    return frombits(n + bits(magic)) - magic


def power_of_two(n: Expr, dtype: str) -> Expr:
    """2**n for n in the range of normal numbers."""
    form = FORMATS[dtype]
    return frombits((n + form.bias) << form.mantissa)


def power_in(shifted: Expr, dtype: str) -> Expr:
    """2**n for a sum (``nearest_sum``) that holds n plus the exponent's bias."""
    return frombits(bits(shifted) << FORMATS[dtype].mantissa)


def scale(x: Expr, shifted: Expr, dtype: str, denormal: Expr | None = None) -> Expr:
    """x * 2**n in two steps, so that a denormal result is rounded once; the sum holds n + 2 bias.

    Where results can be denormal, a condition says which of them are (``lower``), and x > 0.
    """
    mantissa, both = FORMATS[dtype].mantissa, bits(shifted)
    half = call("shru", both, 1)
    x, power = x * frombits(half << mantissa), frombits((both - half) << mantissa)
    return x * power if denormal is None else lower(x, power, denormal, dtype)


def lower(x: Expr, power: Operand, denormal: Expr, dtype: str, sign: int = 1) -> Expr:
    """x * power, rounded once, by means that are as fast where the result is denormal.

    Intel's processors take a hundred cycles for a product or a sum of normal numbers that is
    denormal. Here the smallest normal number is added, which rounds as a denormal result would be
    rounded, and taken away from the bits. The condition may hold only for denormal results or
    zeros, and these have the sign that is given; near the border it need not hold.
    """
    form = FORMATS[dtype]
    least = select(denormal, call(form.integer, 1 << form.mantissa), 0)
    signed = least if sign > 0 else least + bits(call(dtype, -0.0))
    return frombits(bits(fma(x, power, frombits(signed))) - least)


def away_from_zero(x: Expr, dtype: str) -> Expr:
    """x, or a small normal number where x is too small for 1 + x to differ from 1.

    Products of denormal numbers take a hundred cycles on Intel's processors.
    """
    return x + FORMATS[dtype].negligible
