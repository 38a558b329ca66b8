"""Powers of two in one instruction where the processor has it.

``exp`` ends in two products with powers of two, made from an exponent's halves so that neither
overflows. AVX-512 has an instruction that does the same, rounded once as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.core.formula import Instr
from flambeau.jit.region import Flattener

_BIAS = {"f32": 127, "f64": 1023}
_SHIFT = {"f32": 23, "f64": 52}


def with_powers(flattener: Flattener, kind: str, is_vector: Sequence[bool]) -> tuple[Instr, ...]:
    """The instructions, with ``scalef`` for such pairs of products.

    Args:
        flattener: has the instructions.
        kind: the type of which vectors fill registers.
        is_vector: which of the instructions are on vectors.
    """
    finder = _Finder(flattener)
    return tuple((vector and instr.type == kind and finder.scaled(instr)) or instr
                 for instr, vector in zip(flattener.out.instrs, is_vector, strict=True))


class _Finder:
    def __init__(self, flattener: Flattener) -> None:
        self.instrs = flattener.out.instrs
        self.numbers = flattener.numbers

    def args(self, number: int, op: str) -> tuple[int, ...] | None:
        instr = self.instrs[number]
        return instr.args if instr.op == op else None

    def is_const(self, number: int, value: int) -> bool:
        instr = self.instrs[number]
        return instr.op == "const" and instr.value == value

    def power(self, number: int, kind: str) -> int | None:
        """The exponent of ``frombits((exponent + bias) << shift)``."""
        bits = self.args(number, "frombits")
        shifted = self.args(bits[0], "shl") if bits else None
        if shifted is None or not self.is_const(shifted[1], _SHIFT[kind]):
            return None
        added = self.args(shifted[0], "add")
        return added[0] if added and self.is_const(added[1], _BIAS[kind]) else None

    def scaled(self, instr: Instr) -> Instr | None:
        """``scalef`` for an instruction that multiplies with the second of two powers."""
        kind = instr.type
        if instr.op != "mul" or kind not in _BIAS:
            return None
        first = self.args(instr.args[0], "mul")
        rest = self.power(instr.args[1], kind)
        half = self.power(first[1], kind) if first else None
        if first is None or rest is None or half is None:
            return None
        halved, left = self.args(half, "shr"), self.args(rest, "sub")
        if not halved or not self.is_const(halved[1], 1) or left != (halved[0], half):
            return None
        count = self.count(halved[0], kind)
        return None if count is None else Instr("scalef", kind, (first[0], count))

    def count(self, number: int, kind: str) -> int | None:
        """The exponent as a float: it was taken from the bits of a float plus a large one."""
        pair = self.args(number, "sub")
        bits = self.args(pair[0], "bits") if pair else None
        if pair is None or bits is None:
            return None
        value = self.instrs[pair[1]].value
        magic = self.numbers.get(Instr("const", kind, (), value))
        return None if magic is None else self.numbers.get(Instr("sub", kind, (bits[0], magic)))
