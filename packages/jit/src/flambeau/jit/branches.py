"""What Python does with a value that it reads: whether a branch depends on it, or ``max`` asked.

``compile(fullgraph=True)`` refuses what ``torch.compile`` does: numbers may be read and computed
with, as long as they do not decide which way the program goes.
"""

from __future__ import annotations

import builtins
import dis
from functools import lru_cache
from types import CodeType, FrameType

#: Take two values and give one.
_JOINS = ("COMPARE_OP", "BINARY_OP", "CONTAINS_OP", "IS_OP")
#: Compute with what is above a value.
_ABOVE = ("LOAD_ATTR", "LOAD_METHOD", "PUSH_NULL", "PRECALL", "CALL")
#: Leave a value what it is, or make it a truth value.
_KEEPS = ("CACHE", "NOP", "NOT_TAKEN", "TO_BOOL", "UNARY_NOT", "UNARY_NEGATIVE",
          "EXTENDED_ARG")


@lru_cache(maxsize=256)
def _instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    return tuple(dis.get_instructions(code))


def _current(frame: FrameType) -> int:
    """The number of the instruction that runs, -1 if it is none of the listed ones."""
    for number, instr in enumerate(_instructions(frame.f_code)):
        if instr.offset == frame.f_lasti:
            return number
    return -1


def is_membership(frame: FrameType) -> bool:
    """Whether a frame is at ``value in x``."""
    number = _current(frame)
    return number >= 0 and _instructions(frame.f_code)[number].opname == "CONTAINS_OP"


def decides_branch(frame: FrameType) -> bool:
    """Whether what the instruction that runs gives decides a branch of the function."""
    number = _current(frame)
    return number >= 0 and _decides(_instructions(frame.f_code), number + 1, 0)


def _decides(instrs: tuple[dis.Instruction, ...], first: int, above: int) -> bool:
    """Whether a value on the stack, with others above it, decides a branch."""
    for number in range(first, len(instrs)):
        name = instrs[number].opname
        if name in _KEEPS or (above == 0 and name in ("PRECALL", "COPY")):
            continue
        if above == 0 and name.startswith(("POP_JUMP", "JUMP_IF")):
            return True
        if above == 0 and name == "STORE_FAST":
            return _name_decides(instrs, number + 1, instrs[number].argval)
        if name in _JOINS:
            above = max(above - 1, 0)
        elif name.startswith(("LOAD_FAST", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_GLOBAL",
                              "LOAD_DEREF")):
            above += _effect(instrs[number])
        elif above > 0 and name in _ABOVE:
            above += _effect(instrs[number])
            if above < 1:
                return False        # it is an argument of a call
        else:
            return False            # it leaves this function, or what it decides is not known
    return False


def _name_decides(instrs: tuple[dis.Instruction, ...], first: int, name: str) -> bool:
    """Whether a variable decides a branch before it gets another value."""
    for number in range(first, len(instrs)):
        instr = instrs[number]
        names = instr.argval if isinstance(instr.argval, tuple) else (instr.argval,)
        if name not in names:
            continue
        if not instr.opname.startswith("LOAD_FAST"):
            return False
        if _decides(instrs, number + 1, len(names) - 1 - names.index(name)):
            return True
    return False


def _effect(instr: dis.Instruction) -> int:
    return dis.stack_effect(instr.opcode, instr.arg, jump=False)


def is_extremum(frame: FrameType) -> bool:
    """Whether a frame is at a call of Python's ``max`` or ``min`` without keywords."""
    number, instrs = _current(frame), _instructions(frame.f_code)
    if number < 0 or instrs[number].opname != "CALL":
        return False
    missing = instrs[number].arg or 0
    if instrs[number - 1].opname == "PRECALL":
        number -= 1
    while missing > 0 and number > 0:
        number -= 1
        if instrs[number].opname == "KW_NAMES":
            return False
        missing -= _effect(instrs[number])
    before = instrs[number - 1]
    if before.opname == "PUSH_NULL":
        before = instrs[number - 2]
    if before.opname not in ("LOAD_GLOBAL", "LOAD_NAME") or before.argval not in ("max", "min"):
        return False
    return before.argval not in frame.f_globals and hasattr(builtins, before.argval)
