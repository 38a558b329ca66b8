"""Products with powers of two, and bounds, in one instruction where the processor has it.

``exp`` ends in products with powers of two, made from an exponent's halves so that neither
overflows, or moved so that neither is denormal. AVX-512 has an instruction that does the same,
rounded once as well. It has one for the smaller of two numbers, too, which LLVM does not find
behind the other bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flambeau.core.formula import Instr
from flambeau.core.formula.literal import decode

_BIAS = {"f32": 127, "f64": 1023}
_SHIFT = {"f32": 23, "f64": 52}


def with_powers(instrs: Sequence[Instr], kind: str,
                is_vector: Sequence[bool] | None = None) -> tuple[Instr, ...]:
    """The instructions, with ``scalef`` for such products, ``least`` for bounds.

    Args:
        instrs: the instructions, none of them twice.
        kind: the type of which vectors fill registers.
        is_vector: which of the instructions are on vectors; all if left out.
    """
    finder = _Finder(instrs)
    return tuple(instr if instr.type != kind or (is_vector and not is_vector[number])
                 else finder.found(instr) or instr for number, instr in enumerate(instrs))


class _Finder:
    def __init__(self, instrs: Sequence[Instr]) -> None:
        self.instrs = instrs
        self.numbers = {instr: number for number, instr in enumerate(instrs)}

    def found(self, instr: Instr) -> Instr | None:
        """What stands for an instruction."""
        if instr.op == "select":
            return self.bounded(instr)
        if instr.op != "mul" or instr.type not in _BIAS:
            return None
        return self.scaled(instr) or self.fallen(instr) or self.small(instr)

    def args(self, number: int, op: str) -> tuple[int, ...] | None:
        instr = self.instrs[number]
        return instr.args if instr.op == op else None

    def is_const(self, number: int, value: int) -> bool:
        instr = self.instrs[number]
        return instr.op == "const" and instr.value == value

    def integer(self, number: int) -> int | None:
        instr = self.instrs[number]
        return int(str(instr.value)) if instr.op == "const" else None

    def float_of(self, number: int) -> float | None:
        code = self.integer(number)
        return None if code is None else float(decode(code, self.instrs[number].type))

    def power(self, number: int, kind: str) -> int | None:
        """The exponent of ``frombits((exponent + bias) << shift)``."""
        bits = self.args(number, "frombits")
        shifted = self.args(bits[0], "shl") if bits else None
        if shifted is None or not self.is_const(shifted[1], _SHIFT[kind]):
            return None
        added = self.args(shifted[0], "add")
        return added[0] if added and self.is_const(added[1], _BIAS[kind]) else None

    def scaled(self, instr: Instr) -> Instr | None:
        """For the second of two products with powers, an exponent's halves."""
        kind = instr.type
        first = self.args(instr.args[0], "mul")
        rest = self.power(instr.args[1], kind)
        half = self.power(first[1], kind) if first else None
        if first is None or rest is None or half is None:
            return None
        halved, left = self.args(half, "shr"), self.args(rest, "sub")
        if not halved or not self.is_const(halved[1], 1) or left != (halved[0], half):
            return None
        return self.product(first[0], halved[0], kind)

    def fallen(self, instr: Instr) -> Instr | None:
        """For a product with a power that was moved, moved back."""
        kind = instr.type
        first = self.args(instr.args[0], "mul")
        moved = self.power(first[1], kind) if first else None
        added = self.args(moved, "add") if moved is not None else None
        back = self.float_of(instr.args[1])
        by = self.integer(added[1]) if added else None
        if first is None or added is None or back is None or by is None or by <= 0:
            return None
        return self.product(first[0], added[0], kind) if back == math.ldexp(1.0, -by) else None

    def small(self, instr: Instr) -> Instr | None:
        """For a product with one power, which is a normal number."""
        exponent = self.power(instr.args[1], instr.type)
        return None if exponent is None else self.product(instr.args[0], exponent, instr.type)

    def product(self, number: int, exponent: int, kind: str) -> Instr | None:
        count = self.count(exponent, kind)
        return None if count is None else Instr("scalef", kind, (number, count))

    def count(self, number: int, kind: str) -> int | None:
        """The exponent as a float: it was taken from the bits of a float plus a large one."""
        pair = self.args(number, "sub")
        bits = self.args(pair[0], "bits") if pair else None
        if pair is None or bits is None:
            return None
        value = self.instrs[pair[1]].value
        magic = self.numbers.get(Instr("const", kind, (), value))
        return None if magic is None else self.numbers.get(Instr("sub", kind, (bits[0], magic)))

    def bounded(self, instr: Instr) -> Instr | None:
        """For ``x > high ? high : (x < low ? low : x)`` with ``low < high``; NaN stays NaN."""
        test, bound, rest = instr.args
        above, inner = self.args(test, "gt"), self.args(rest, "select")
        if above is None or inner is None or above[1] != bound or above[0] != inner[2]:
            return None
        below, high = self.args(inner[0], "lt"), self.float_of(bound)
        low = self.float_of(inner[1])
        if below != (inner[2], inner[1]) or high is None or low is None or not low < high:
            return None
        return Instr("least", instr.type, (bound, rest))
