"""The closed set of operations everything else is made of, and what they mean.

All are total: they give one defined value for every input. Types are those of ``lower``:
``f32 f64 i32 i64 b`` (``b`` is bool). In signatures ``F`` stands for either float type, ``I``
for either integer type, ``N`` for any of the four, ``L`` for an integer or bool, ``T`` for any
type; one letter means the same type wherever it occurs in a signature.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Primitive:
    """``args`` holds a type letter per argument, ``result`` the type letter that is given."""

    name: str
    args: str
    result: str
    meaning: str


_TABLE = (
    ("add", "NN", "N", "a + b; integers wrap around"),
    ("sub", "NN", "N", "a - b; integers wrap around"),
    ("mul", "NN", "N", "a * b; integers wrap around"),
    ("div", "FF", "F", "a / b as IEEE 754 has it: x/0 is inf or nan"),
    ("neg", "N", "N", "-a; -INT_MIN is INT_MIN"),
    ("abs", "N", "N", "|a|, clears the sign bit of a float; |INT_MIN| is INT_MIN"),
    ("fma", "FFF", "F", "a * b + c rounded once (rounded twice on machines without FMA)"),
    ("mul_err", "FF", "F", "a * b - round(a * b), exact on every machine, barring underflow"),
    ("sqrt", "F", "F", "square root, correctly rounded; nan below zero"),
    ("floor", "F", "F", "largest integer not above a"),
    ("ceil", "F", "F", "smallest integer not below a"),
    ("trunc", "F", "F", "a rounded towards zero"),
    ("rint", "F", "F", "nearest integer, ties to even"),
    ("minimum", "NN", "N", "smaller of two, the first if equal; nan if either is nan"),
    ("maximum", "NN", "N", "larger of two, the first if equal; nan if either is nan"),
    ("copysign", "FF", "F", "magnitude of a, sign bit of b"),
    ("floordiv", "II", "I", "floor(a / b); 0 if b is 0; INT_MIN // -1 is INT_MIN"),
    ("truncdiv", "II", "I", "trunc(a / b); 0 if b is 0; INT_MIN / -1 is INT_MIN"),
    ("mod", "II", "I", "a - b * floor(a / b), sign of b; 0 if b is 0"),
    ("rem", "II", "I", "a - b * trunc(a / b), sign of a; 0 if b is 0"),
    ("ipow", "II", "I", "a to the power b, wraps; b < 0: 1 for a = 1, +-1 for a = -1, else 0"),
    ("and", "LL", "L", "bitwise and; logical for bool"),
    ("or", "LL", "L", "bitwise or; logical for bool"),
    ("xor", "LL", "L", "bitwise exclusive or; logical for bool"),
    ("not", "L", "L", "bitwise complement; logical for bool"),
    ("shl", "II", "I", "a << b; 0 if b is negative or at least the width"),
    ("shr", "II", "I", "arithmetic a >> b; only the sign if b is negative or at least the width"),
    ("shru", "II", "I", "logical a >> b on the bits; 0 if b is negative or at least the width"),
    ("lt", "NN", "b", "a < b; false if either is nan"),
    ("le", "NN", "b", "a <= b; false if either is nan"),
    ("gt", "NN", "b", "a > b; false if either is nan"),
    ("ge", "NN", "b", "a >= b; false if either is nan"),
    ("eq", "TT", "b", "a == b; false if either is nan"),
    ("ne", "TT", "b", "a != b; true if either is nan"),
    ("select", "bTT", "T", "b if a else c; the other value is not looked at"),
    ("bits", "F", "I", "the bits as an integer of the same width"),
    ("frombits", "I", "F", "the float of the same width with these bits"),
    ("f32", "T", "f32", "convert, to nearest even"),
    ("f64", "T", "f64", "convert, to nearest even"),
    ("i32", "T", "i32", "convert; floats towards zero, INT_MIN if nan or out of range; wraps"),
    ("i64", "T", "i64", "convert; floats towards zero, INT_MIN if nan or out of range"),
    ("bool", "T", "b", "a != 0; nan is true"),
    ("rare", "bTT", "T", "b if a else c; a seldom holds, so b may be corrected in afterwards"),
)

PRIMITIVES: dict[str, Primitive] = {row[0]: Primitive(*row) for row in _TABLE}

CONVERSIONS = ("f32", "f64", "i32", "i64", "bool")

TYPE_CLASSES: dict[str, tuple[str, ...]] = {
    "F": ("f32", "f64"),
    "I": ("i32", "i64"),
    "N": ("f32", "f64", "i32", "i64"),
    "L": ("i32", "i64", "b"),
    "T": ("f32", "f64", "i32", "i64", "b"),
    "b": ("b",),
}

EXTERNS: dict[str, int] = {
    "sin": 1,
    "cos": 1,
    "tan": 1,
    "lgamma": 1,
    "fmod": 2,
}
"""Scalar functions of the platform's mathematics library that formulas may call: name, arity."""
