"""Vectors of elements: loads and stores of every dtype, masks, and joining their elements."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.jit.convert import REGISTER
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm import half
from flambeau.jit.llvm.emitter import TYPES, Emitter, constant_float, splat
from flambeau.jit.llvm.memory import HALVES

_LANE = {"f32": "float", "f64": "double"}
NONTEMPORAL = "!nontemporal !2"
#: The first line of modules in which LLVM has no vectors to find.
WRITTEN = "; in vectors\n"


#: Vectors side by side are so many instructions behind each other, which spreads out divisions and
#: the like, of which a processor has one at a time.
STAGGER = 2


def interleaved(numbers: Sequence[int], count: int, behind: int) -> list[tuple[int, int]]:
    """Vectors and their instructions, in the order in which they are written.

    Args:
        numbers: the instructions of each vector.
        count: how many vectors.
        behind: by how many instructions each is behind the one before.
    """
    steps = sorted((step + k * behind, k, number) for k in range(count)
                   for step, number in enumerate(numbers))
    return [(k, number) for _, k, number in steps]


def memory_type(dtype: str) -> str:
    """LLVM's type of an element in memory."""
    register = REGISTER[dtype]
    if register in _LANE and dtype not in HALVES:
        return _LANE[register]
    return f"i{SIZE[dtype] * 8}"


def load(out: Emitter, dtype: str, pointer: str, mask: str = "") -> str:
    """Elements side by side as a register; those that a mask leaves out are 0."""
    raw = _load(out, memory_type(dtype), SIZE[dtype], pointer, mask)
    if dtype == "bool":
        return out.add(f"icmp ne <{out.width} x i8> {raw}, zeroinitializer")
    if dtype == "bfloat16":
        wide = out.add(f"zext <{out.width} x i16> {raw} to {out.type('i32')}")
        upper = out.add(f"shl {out.type('i32')} {wide}, {out.number('i32', '16')}")
        return out.add(f"bitcast {out.type('i32')} {upper} to {out.type('f32')}")
    if dtype == "float16":
        return half.widen(out, raw)
    if memory_type(dtype)[0] != "i" or SIZE[dtype] == 8:
        return raw
    extend = "zext" if dtype.startswith("u") else "sext"
    return out.add(f"{extend} <{out.width} x {memory_type(dtype)}> {raw} to {out.type('i64')}")


def store(out: Emitter, dtype: str, pointer: str, value: str, mask: str = "",
          streams: bool = False) -> None:
    """Write registers that were rounded to a dtype."""
    kind = memory_type(dtype)
    whole = f"<{out.width} x {kind}>"
    if dtype == "bool":
        value = out.add(f"zext {out.type('b')} {value} to {whole}")
    elif dtype == "bfloat16":
        bits = out.add(f"bitcast {out.type('f32')} {value} to {out.type('i32')}")
        bits = out.add(f"lshr {out.type('i32')} {bits}, {out.number('i32', '16')}")
        value = out.add(f"trunc {out.type('i32')} {bits} to {whole}")
    elif dtype == "float16":
        value = half.narrow(out, value)
    elif kind[0] == "i" and SIZE[dtype] < 8:
        value = out.add(f"trunc {out.type('i64')} {value} to {whole}")
    if mask:
        _declare(out, f"void @llvm.masked.store.{_suffix(out, kind)}.p0({whole}, ptr, i32, "
                      f"{out.type('b')})")
        out.line(f"call void @llvm.masked.store.{_suffix(out, kind)}.p0({whole} {value}, "
                 f"ptr {pointer}, i32 {SIZE[dtype]}, {out.type('b')} {mask})")
    elif streams:
        align = min(SIZE[dtype] * out.width, 64)
        out.line(f"store {whole} {value}, ptr {pointer}, align {align}, {NONTEMPORAL}")
    else:
        out.line(f"store {whole} {value}, ptr {pointer}, align {SIZE[dtype]}")


def _load(out: Emitter, kind: str, size: int, pointer: str, mask: str) -> str:
    whole = f"<{out.width} x {kind}>"
    if not mask:
        return out.add(f"load {whole}, ptr {pointer}, align {size}")
    _declare(out, f"{whole} @llvm.masked.load.{_suffix(out, kind)}.p0(ptr, i32, "
                  f"{out.type('b')}, {whole})")
    return out.add(f"call {whole} @llvm.masked.load.{_suffix(out, kind)}.p0(ptr {pointer}, "
                   f"i32 {size}, {out.type('b')} {mask}, {whole} zeroinitializer)")


def _declare(out: Emitter, text: str) -> None:
    out.declared.add(f"declare {text}")


def _suffix(out: Emitter, kind: str) -> str:
    return f"v{out.width}" + {"float": "f32", "double": "f64"}.get(kind, kind)


def first_lanes(out: Emitter, count: str) -> str:
    """The mask of so many elements."""
    kind = f"<{out.width} x i64>"
    steps = ", ".join(f"i64 {k}" for k in range(out.width))
    first = out.add(f"insertelement {kind} poison, i64 {count}, i64 0")
    every = out.add(f"shufflevector {kind} {first}, {kind} poison, <{out.width} x i32> "
                    f"zeroinitializer")
    return out.add(f"icmp slt {kind} <{steps}>, {every}")


def spread(out: Emitter, kind: str, value: str) -> str:
    """A scalar in all elements."""
    t = out.type(kind)
    if value[0] != "%":
        return splat(TYPES[kind], value, out.width)
    first = out.add(f"insertelement {t} poison, {TYPES[kind]} {value}, i64 0")
    return out.add(f"shufflevector {t} {first}, {t} poison, <{out.width} x i32> zeroinitializer")


def combine(out: Emitter, op: str, kind: str, a: str, b: str) -> str:
    """Two values by what a reduction does (``orders``); of scalars where ``width`` is 0."""
    if op == "sum":
        return out.add(f"fadd {out.type(kind)} {a}, {b}")
    first = out.compare("lt" if op == "min" else "gt", kind, (a, b))
    if op != "above":
        nan = out.compare("ne", kind, (a, a))
        first = out.add(f"or {out.type('b')} {first}, {nan}")
    return out.op_select(kind, first, a, b)


def across(out: Emitter, op: str, kind: str, value: str) -> str:
    """The elements of a vector as one, by halves."""
    width = out.width
    while out.width > 1:
        whole, half = out.type(kind), out.width // 2
        parts = []
        for first in (0, half):
            picks = ", ".join(f"i32 {k}" for k in range(first, first + half))
            parts.append(out.add(f"shufflevector {whole} {value}, {whole} poison, "
                                 f"<{half} x i32> <{picks}>"))
        out.width = half
        value = combine(out, op, kind, *parts)
    value = out.add(f"extractelement {out.type(kind)} {value}, i64 0")
    out.width = width
    return value


def positions(out: Emitter, kind: str, index: str) -> str:
    """Numbers of elements from an index on, which are exact as long as rows are short."""
    first = out.add(f"sitofp i64 {index} to {TYPES[kind]}")
    steps = ", ".join(f"{TYPES[kind]} {constant_float(float(k))}" for k in range(out.width))
    return out.add(f"fadd {out.type(kind)} {spread(out, kind, first)}, <{steps}>")
