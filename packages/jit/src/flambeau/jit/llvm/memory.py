"""Loads and stores: each dtype between its form in memory and its register."""

from __future__ import annotations

from flambeau.jit.convert import PARTS, REGISTER
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm import half
from flambeau.jit.llvm.emitter import TYPES, Emitter

HALVES = ("bfloat16", "float16")


def load(out: Emitter, dtype: str, pointer: str) -> tuple[str, ...]:
    """The element at an address: one register, or two for a complex number."""
    register = REGISTER[dtype]
    if register in ("f32", "f64") and dtype not in HALVES:
        return tuple(
            out.add(f"load {TYPES[register]}, ptr {part}, align 1")
            for part in _parts(out, dtype, pointer)
        )
    bits = SIZE[dtype] * 8
    raw = out.add(f"load i{bits}, ptr {pointer}, align 1")
    if dtype == "bool":
        return (out.add(f"icmp ne i8 {raw}, 0"),)
    if dtype == "bfloat16":
        upper = out.add(f"shl i32 {out.add(f'zext i16 {raw} to i32')}, 16")
        return (out.add(f"bitcast i32 {upper} to float"),)
    if dtype == "float16":
        return (half.widen(out, raw),)
    if bits == 64:
        return (raw,)
    extend = "zext" if dtype.startswith("u") else "sext"
    return (out.add(f"{extend} i{bits} {raw} to i64"),)


def store(out: Emitter, dtype: str, pointer: str, registers: tuple[str, ...]) -> None:
    """Write an element that ``convert.narrow`` has rounded to this dtype."""
    register = REGISTER[dtype]
    if register in ("f32", "f64") and dtype not in HALVES:
        for part, value in zip(_parts(out, dtype, pointer), registers, strict=True):
            out.line(f"store {TYPES[register]} {value}, ptr {part}, align 1")
        return
    bits, value = SIZE[dtype] * 8, registers[0]
    if dtype == "bool":
        value = out.add(f"zext i1 {value} to i8")
    elif dtype == "bfloat16":
        whole = out.add(f"bitcast float {value} to i32")
        value = out.add(f"trunc i32 {out.add(f'lshr i32 {whole}, 16')} to i16")
    elif dtype == "float16":
        value = half.narrow(out, value)
    elif bits < 64:
        value = out.add(f"trunc i64 {value} to i{bits}")
    out.line(f"store i{bits} {value}, ptr {pointer}, align 1")


def _parts(out: Emitter, dtype: str, pointer: str) -> list[str]:
    if len(PARTS[dtype]) == 1:
        return [pointer]
    return [pointer, out.add(f"getelementptr i8, ptr {pointer}, i64 {SIZE[dtype] // 2}")]
