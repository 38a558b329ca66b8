"""Simplify one instruction where the result is the same bit for bit."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence

from .literal import decode, encode
from .program import Instr

_FLOAT: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "sqrt": math.sqrt,
}
_INTEGER: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "abs": abs,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "not": operator.invert,
}
_COMPARE: dict[str, Callable[..., bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
_NEUTRAL: dict[str, dict[str, float]] = {
    "mul": {"f32": 1.0, "f64": 1.0, "i32": 1, "i64": 1},
    "div": {"f32": 1.0, "f64": 1.0},
    "add": {"f32": -0.0, "f64": -0.0, "i32": 0, "i64": 0},
    "sub": {"f32": 0.0, "f64": 0.0, "i32": 0, "i64": 0},
    "or": {"b": 0, "i32": 0, "i64": 0},
    "xor": {"b": 0, "i32": 0, "i64": 0},
    "and": {"b": 1, "i32": -1, "i64": -1},
}
_COMMUTATIVE = ("add", "mul", "or", "xor", "and")


def fold_instruction(instr: Instr, instrs: Sequence[Instr]) -> Instr | int:
    """The number of an earlier instruction with the same value, or the instruction to emit.

    A product or sum of two double-precision numbers rounded to single precision equals the
    single-precision operation, so Python floats compute both precisions exactly.
    """
    args = [instrs[a] for a in instr.args]
    if args and all(a.op == "const" for a in args):
        return _constant(instr, args)
    if instr.op in ("select", "rare"):
        return _select(instr, args)
    if instr.op in _NEUTRAL:
        return _neutral(instr, args)
    if instr.op in ("neg", "not") and args[0].op == instr.op:
        return args[0].args[0]
    return instr


def _constant(instr: Instr, args: Sequence[Instr]) -> Instr:
    kind = args[-1].type
    values = [decode(int(str(a.value)), a.type) for a in args]
    if instr.op in _COMPARE:
        return Instr("const", "b", (), int(_COMPARE[instr.op](*values)))
    if instr.op in ("f32", "f64"):
        return Instr("const", instr.type, (), encode(values[0], instr.type))
    if instr.op in ("bits", "frombits"):
        return Instr("const", instr.type, (), args[0].value)
    if instr.op in ("select", "rare"):
        return args[1] if values[0] else args[2]
    table: Mapping[str, Callable[..., float]] = _FLOAT if kind in ("f32", "f64") else _INTEGER
    if kind == "b" or instr.op not in table:
        return instr
    try:
        value = table[instr.op](*values)
    except (ArithmeticError, ValueError):
        return instr
    return Instr("const", instr.type, (), encode(value, instr.type))


def _select(instr: Instr, args: Sequence[Instr]) -> Instr | int:
    if args[0].op == "const":
        return instr.args[1] if args[0].value else instr.args[2]
    if instr.args[1] == instr.args[2]:
        return instr.args[1]
    return instr


def _neutral(instr: Instr, args: Sequence[Instr]) -> Instr | int:
    neutral = _NEUTRAL[instr.op].get(instr.type)
    if neutral is None:
        return instr
    code = encode(neutral, instr.type)
    if args[1].op == "const" and args[1].value == code:
        return instr.args[0]
    if instr.op in _COMMUTATIVE and args[0].op == "const" and args[0].value == code:
        return instr.args[1]
    return instr
