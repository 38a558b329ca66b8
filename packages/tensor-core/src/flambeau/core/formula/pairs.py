"""Two primitives that are one instruction of the bytecode.

What the first gives stays in the processor's registers instead of passing through a tile of
memory, and the tile is walked once instead of twice. Neither is rounded another way: a product
and a sum are two roundings, as when they are two instructions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .program import Instr, Program

#: The second primitive, and which of its arguments the first one gives.
_POSITIONS = (
    ("add", 0),
    ("sub", 0),
    ("sub", 1),
    ("mul", 0),
    ("div", 0),
    ("div", 1),
    ("fma", 0),
    ("fma", 2),
    ("sqrt", 0),
)
_ARITHMETIC = ("add", "sub", "mul", "div", "fma", "sqrt")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")

#: Where the first two arguments may be exchanged, the first primitive gives the first.
_COMMUTES = ("add", "mul", "fma")

#: All pairs: (first, second, argument of the second).
PAIRS = (
    *((first, second, position) for second, position in _POSITIONS for first in _ARITHMETIC),
    *((first, "select", 0) for first in _COMPARISONS),
)


def pair_name(first: str, second: str, position: int) -> str:
    """What the instruction is called, which is how it would be written."""
    return f"{second}.{position}.{first}"


_NAMES = {pair: pair_name(*pair) for pair in PAIRS}


def join_pairs(program: Program, order: Sequence[int]) -> dict[int, Instr]:
    """The instructions of ``order`` that are left when pairs have been joined, by number.

    The first of a pair must have no other reader and be no result itself. Readers choose before
    what they read does, so that a chain of operations falls into pairs from its end.
    """
    instrs = {number: program.instrs[number] for number in order}
    readers = Counter(program.roots())
    for instr in instrs.values():
        readers.update(instr.args)
    for number in reversed(order):
        if number not in instrs:
            continue
        for position, arg in enumerate(instrs[number].args):
            if readers[arg] != 1:
                continue
            if joined := _join(program, instrs[number], position, instrs[arg]):
                instrs[number] = joined
                del instrs[arg]
                break
    return instrs


def _join(program: Program, second: Instr, position: int, first: Instr) -> Instr | None:
    """The two as one instruction, where there is one of their types.

    A choice between numbers may ask for an order of integers, such as their bits.
    """
    args = list(second.args)
    if position == 1 and second.op in _COMMUTES:
        args[0], args[1] = args[1], args[0]
        position = 0
    op = "select" if second.op == "rare" else second.op
    name = _NAMES.get((first.op, op, position))
    if name is None or second.type not in ("f32", "f64"):
        return None
    if any(program.instrs[arg].type != second.type for arg in first.args):
        return None
    args[position : position + 1] = first.args
    return Instr(name, second.type, tuple(args))
