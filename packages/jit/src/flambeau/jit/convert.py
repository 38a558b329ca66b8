"""Conversions between dtypes in memory and compute types, as instructions.

A value of each dtype is held in a register of one of the language's types: integers in ``i64``,
half precisions in ``f32``, complex numbers in two registers. ``narrow`` rounds a computed value
to what memory of a dtype can hold; ``convert`` turns such a value into a compute type.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.core.formula.literal import encode

Emit = Callable[..., int]
Registers = tuple[int, ...]

KIND_OF_DTYPE = {
    "bool": "bool", "uint8": "i64", "int8": "i64", "int16": "i64", "int32": "i64", "int64": "i64",
    "uint16": "i64", "uint32": "i64", "uint64": "i64", "bfloat16": "f32", "float16": "f32",
    "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128",
}
REGISTER_OF_KIND = {
    "bool": "b", "i64": "i64", "f32": "f32", "f64": "f64", "c64": "f32", "c128": "f64",
}
REGISTER = {dtype: REGISTER_OF_KIND[kind] for dtype, kind in KIND_OF_DTYPE.items()}
PARTS = {
    dtype: (".re", ".im") if kind in ("c64", "c128") else ("",)
    for dtype, kind in KIND_OF_DTYPE.items()
}
_WIDTH = {"int8": 8, "int16": 16, "int32": 32, "uint8": 8, "uint16": 16, "uint32": 32}
_RANK = {"bool": 0, "i64": 1, "f32": 2, "f64": 2, "c64": 3, "c128": 3}


def can_convert(dtype: str, kind: str) -> bool:
    """Whether values of a dtype can be operands of this compute type.

    Registers have signs, so that uint64 becomes no other kind of number.
    """
    source = KIND_OF_DTYPE.get(dtype)
    if dtype == "uint64":
        return kind == "i64"
    return source is not None and _RANK[source] <= _RANK[kind]


def can_cast(source: str, target: str) -> bool:
    """Whether ``cast`` converts a dtype to another, with the core's bits.

    Bytes of bools may be others than 0 and 1, which copies keep.
    """
    if source not in KIND_OF_DTYPE or target not in KIND_OF_DTYPE or source == target == "bool":
        return False
    if "uint64" in (source, target):
        return all(KIND_OF_DTYPE[dtype] in ("i64", "bool") for dtype in (source, target))
    return _RANK[KIND_OF_DTYPE[source]] < 3 or _RANK[KIND_OF_DTYPE[target]] == 3


def cast(emit: Emit, registers: Registers, source: str, target: str) -> Registers:
    """A value of a dtype in another that it can be cast to."""
    if source == target:
        return registers
    if target == "int32" and REGISTER[source] in ("f32", "f64"):   # its own least number
        registers = tuple(emit("i32", "i32", (number,)) for number in registers)
        return (emit("i64", "i64", registers),)
    moved = convert(emit, registers, source, KIND_OF_DTYPE[target])
    return narrow(emit, moved, target)


def convert(emit: Emit, registers: Registers, dtype: str, kind: str) -> Registers:
    """A value of a dtype in a compute type at least as wide in family."""
    target = REGISTER_OF_KIND[kind]
    moved = tuple(_register(emit, number, REGISTER[dtype], target) for number in registers)
    if kind in ("c64", "c128") and len(moved) == 1:
        return (*moved, emit("const", target, (), encode(0.0, target)))
    return moved


def _register(emit: Emit, number: int, source: str, target: str) -> int:
    if source == target:
        return number
    return emit("bool" if target == "b" else target, target, (number,))


def narrow(emit: Emit, registers: Registers, dtype: str) -> Registers:
    """What is left of a computed value after it was stored as this dtype."""
    if dtype in _WIDTH:
        return (_wrap(emit, registers[0], dtype),)
    if dtype == "bfloat16":
        return (_round_bfloat16(emit, registers[0]),)
    if dtype == "float16":
        return (emit("half", "f32", registers),)
    return registers


def _wrap(emit: Emit, number: int, dtype: str) -> int:
    """The low bits, extended again with or without sign."""
    unused = emit("const", "i64", (), 64 - _WIDTH[dtype])
    shifted = emit("shl", "i64", (number, unused))
    return emit("shru" if dtype.startswith("u") else "shr", "i64", (shifted, unused))


def _round_bfloat16(emit: Emit, number: int) -> int:
    """To nearest even at the upper half of the bits; every NaN becomes the same one."""
    bits = emit("bits", "i32", (number,))
    sixteen = emit("const", "i32", (), 16)
    last = emit("and", "i32", (emit("shru", "i32", (bits, sixteen)), emit("const", "i32", (), 1)))
    bias = emit("add", "i32", (emit("const", "i32", (), 0x7FFF), last))
    upper = emit("and", "i32", (emit("add", "i32", (bits, bias)), emit("const", "i32", (), -65536)))
    rounded = emit("frombits", "f32", (upper,))
    nan = emit("const", "f32", (), 0x7FC00000)
    return emit("select", "f32", (emit("ne", "b", (number, number)), nan, rounded))
