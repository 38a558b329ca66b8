"""Products with powers of two in one instruction where the processor has it.

``exp`` ends in products with powers of two, made from an exponent's halves so that neither
overflows, or moved so that neither is denormal. AVX-512 has an instruction that does the same,
rounded once as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flambeau.core.formula import Instr
from flambeau.core.formula.literal import decode
from flambeau.core.formula.prelude.tools import FORMATS


def with_powers(instrs: Sequence[Instr], kind: str,
                is_vector: Sequence[bool] | None = None) -> tuple[Instr, ...]:
    """The instructions, with ``scalef`` for such products.

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
        if instr.op != "mul" or instr.type not in FORMATS:
            return None
        return self.scaled(instr) or self.fallen(instr) or self.small(instr)

    def args(self, number: int, op: str) -> tuple[int, ...] | None:
        instr = self.instrs[number]
        return instr.args if instr.op == op else None

    def is_const(self, number: int, value: int) -> bool:
        instr = self.instrs[number]
        return instr.op == "const" and instr.value == value

    def float_of(self, number: int) -> float | None:
        instr = self.instrs[number]
        return float(decode(int(str(instr.value)), instr.type)) if instr.op == "const" else None

    def power(self, number: int, kind: str) -> int | None:
        """The bits that become the exponent: ``frombits(bits << mantissa)``."""
        bits = self.args(number, "frombits")
        shifted = self.args(bits[0], "shl") if bits else None
        return shifted[0] if shifted and self.is_const(shifted[1], FORMATS[kind].mantissa) else None

    def scaled(self, instr: Instr) -> Instr | None:
        """For the second of two products with powers, an exponent's halves."""
        kind = instr.type
        first = self.args(instr.args[0], "mul")
        rest = self.power(instr.args[1], kind)
        half = self.power(first[1], kind) if first else None
        if first is None or rest is None or half is None:
            return None
        halved, left = self.args(half, "shru"), self.args(rest, "sub")
        if not halved or not self.is_const(halved[1], 1) or left != (halved[0], half):
            return None
        return self.product(first[0], halved[0], kind, 2 * FORMATS[kind].bias)

    def fallen(self, instr: Instr) -> Instr | None:
        """For a product with a power that was moved, moved back."""
        kind = instr.type
        first, back = self.args(instr.args[0], "mul"), self.float_of(instr.args[1])
        moved = self.power(first[1], kind) if first else None
        if first is None or moved is None or back is None or not 0 < back < 1:
            return None
        fraction, exponent = math.frexp(back)
        if fraction != 0.5:
            return None
        return self.product(first[0], moved, kind, FORMATS[kind].bias + 1 - exponent)

    def small(self, instr: Instr) -> Instr | None:
        """For a product with one power, which is a normal number."""
        bits = self.power(instr.args[1], instr.type)
        if bits is None:
            return None
        return self.product(instr.args[0], bits, instr.type, FORMATS[instr.type].bias)

    def product(self, number: int, bits: int, kind: str, offset: int) -> Instr | None:
        """A number times the power whose exponent, plus an offset, is in the bits of a sum."""
        shifted = self.args(bits, "bits")
        terms = self.args(shifted[0], "fma") if shifted else None
        if shifted is None or terms is None:
            return None
        if self.float_of(terms[2]) != FORMATS[kind].magic + offset:
            return None
        count = self.numbers.get(Instr("sub", kind, (shifted[0], terms[2])))
        return None if count is None else Instr("scalef", kind, (number, count))
