"""Literals as bit patterns, so that -0.0, nan and rounding to single precision are exact."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

_FORMATS = {"f32": ("<f", "<i"), "f64": ("<d", "<q")}
_WIDTHS = {"i32": 32, "i64": 64}


@dataclass(frozen=True)
class Literal:
    """A literal before it has a type: rank 0 for bool, 1 for integer, 2 for float."""

    rank: int
    key: int

    @classmethod
    def of(cls, value: object) -> Literal:
        """The literal for a Python bool, int or float."""
        if isinstance(value, bool):
            return cls(0, int(value))
        if isinstance(value, int):
            return cls(1, value)
        if isinstance(value, float):
            return cls(2, encode(value, "f64"))
        raise TypeError(f"a literal is a bool, int or float, not {value!r}")

    @property
    def value(self) -> float | int:
        """The number."""
        return decode(self.key, "f64") if self.rank == 2 else self.key

    def to(self, dtype: str) -> int:
        """Its encoding as ``dtype``."""
        return encode(self.value, dtype)


def encode(value: float | int, dtype: str) -> int:
    """What a constant instruction stores: the bits of a float as an integer, else the integer."""
    if dtype in _FORMATS:
        number = math.nan if value != value else _to_float(value)
        as_float, as_int = _FORMATS[dtype]
        try:
            packed = struct.pack(as_float, number)
        except OverflowError:
            packed = struct.pack(as_float, math.copysign(math.inf, number))
        bits: int = struct.unpack(as_int, packed)[0]
        return bits
    if dtype == "b":
        return int(bool(value))
    return wrap_integer(int(value), dtype)


def decode(code: int, dtype: str) -> float | int:
    """The number a constant instruction stands for."""
    if dtype in _FORMATS:
        as_float, as_int = _FORMATS[dtype]
        number: float = struct.unpack(as_float, struct.pack(as_int, code))[0]
        return number
    return code


def wrap_integer(value: int, dtype: str) -> int:
    """Two's complement wraparound."""
    width = _WIDTHS[dtype]
    half = 1 << (width - 1)
    return (value + half) % (1 << width) - half


def _to_float(value: float | int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
