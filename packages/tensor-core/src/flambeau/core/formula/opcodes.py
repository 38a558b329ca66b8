"""The instruction set of the bytecode: primitives and common functions, one opcode per type."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .expr import Expr, call, param
from .pairs import PAIRS, pair_name
from .primitives import EXTERNS, PRIMITIVES, TYPE_CLASSES
from .registry import arities

#: Prelude functions that are one instruction; the interpreter calls what kernels inline.
FUNCTIONS = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan tanh sinh cosh asin acos atan atan2 erf erfc "
    "pow sigmoid hypot fmod"
).split()

#: Names of an instruction's operands.
ARGUMENTS = "abcef"
_TYPES = ("f32", "f64", "i32", "i64", "b")


@dataclass(frozen=True)
class Opcode:
    """One instruction of the bytecode: an operation on operands of given types."""

    op: str
    type: str
    args: tuple[str, ...]
    result: str
    expr: Expr


@cache
def opcodes() -> dict[tuple[str, str], Opcode]:
    """All opcodes by operation and type of the last operand; their order is their number."""
    table: dict[tuple[str, str], Opcode] = {}
    for kind in _TYPES:
        table["copy", kind] = Opcode("copy", kind, (kind,), kind, param("a"))
    for primitive in PRIMITIVES.values():
        if primitive.name == "rare":
            continue
        for kind in TYPE_CLASSES[primitive.args[-1]]:
            if primitive.result == kind and primitive.name in _TYPES:
                continue
            args = tuple("b" if letter == "b" else kind for letter in primitive.args)
            table[primitive.name, kind] = _opcode(
                primitive.name, kind, args, _result(primitive.result, kind))
    for kind in ("f32", "f64"):
        for name in FUNCTIONS:
            table[name, kind] = _opcode(name, kind, (kind,) * arities()[name], kind)
        for name, arity in EXTERNS.items():
            expr = Expr("extern", tuple(map(param, ARGUMENTS[:arity])), name)
            table[f"extern {name}", kind] = Opcode(name, kind, (kind,) * arity, kind, expr)
        for first, second, position in PAIRS:
            name = pair_name(first, second, position)
            table[name, kind] = _pair(name, kind, first, second, position)
    return table


def _opcode(name: str, kind: str, args: tuple[str, ...], result: str) -> Opcode:
    expr = call(name, *map(param, ARGUMENTS[: len(args)]))
    return Opcode(name, kind, args, result, expr)


def _pair(name: str, kind: str, first: str, second: str, position: int) -> Opcode:
    before = len(PRIMITIVES[first].args)
    count = before + len(PRIMITIVES[second].args) - 1
    operands = list(map(param, ARGUMENTS[:count]))
    operands[position : position + before] = [call(first, *operands[position : position + before])]
    return Opcode(name, kind, (kind,) * count, kind, call(second, *operands))


def _result(letter: str, kind: str) -> str:
    if letter in _TYPES:
        return letter
    if letter == "I" and kind in ("f32", "f64"):
        return "i32" if kind == "f32" else "i64"
    if letter == "F" and kind in ("i32", "i64"):
        return "f32" if kind == "i32" else "f64"
    return kind
