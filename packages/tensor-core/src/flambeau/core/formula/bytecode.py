"""Formulas as register bytecode, for operators registered where there is no compiler.

A register is a tile of elements. Registers 0 to inputs-1 are the operands' memory, the next
ones the outputs', the rest scratch: constants and scalars are spread over theirs once per call,
temporaries share theirs as their lives end.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .expr import Expr
from .lower import input_type, lower
from .opcodes import ARGUMENTS, FUNCTIONS, Opcode, opcodes
from .pairs import join_pairs
from .program import Instr, Program
from .registry import FormulaError

MAGIC = 0x464C4243
MAX_REGISTERS = 96

#: Instructions that are not opcodes: they fill registers, or take complex numbers apart.
CONST, SCALAR, PART, PAIR = range(4)

#: In a copy to an output, where it cannot be saved: the result is an operand or a number itself.
NEVER = 1 << 15
FIRST_OPCODE = 64

_SIZES = {"f32": 4, "f64": 8, "i32": 4, "i64": 8, "b": 1, "bool": 1, "c64": 8, "c128": 16}
_CODES = {"f32": 0, "f64": 1, "i32": 2, "i64": 3, "b": 4}

Code = tuple[int, ...]


@dataclass
class Bytecode:
    """An assembled formula.

    ``prologue`` runs once per call and ``code`` once per tile; both hold (operation,
    destination, a, b, c, d, e). ``sizes`` are the bytes per element of the inputs and outputs,
    ``width`` those of the widest register, at least four.
    """

    inputs: int
    outputs: int
    registers: int = 0
    width: int = 4
    sizes: list[int] = field(default_factory=list)
    consts: list[int] = field(default_factory=list)
    prologue: list[Code] = field(default_factory=list)
    code: list[Code] = field(default_factory=list)

    def pack(self) -> bytes:
        """The bytes that the interpreter runs; they hold no pointers."""
        head = struct.pack(
            "<8i",
            MAGIC,
            self.inputs,
            self.outputs,
            self.registers,
            len(self.consts),
            len(self.prologue),
            len(self.code),
            self.width,
        )
        consts = struct.pack(f"<{len(self.consts)}q", *self.consts)
        sizes = struct.pack(f"<{len(self.sizes)}i", *self.sizes)
        code = b"".join(struct.pack(f"<{len(line)}H", *line) for line in self.prologue + self.code)
        return head + consts + sizes + code


def assemble(
    exprs: Sequence[Expr],
    params: Sequence[str] | Mapping[str, str],
    scalars: Sequence[str] | Mapping[str, str] = (),
    compute: str = "f32",
    results: Sequence[str] | None = None,
) -> Bytecode:
    """Assemble formulas for one compute type.

    Args:
        exprs: One expression per output.
        params: Operands in order; a mapping gives the kinds, as for ``render_function``.
        scalars: Run-time scalars in order; likewise.
        compute: Compute type.
        results: Compute type of each output.

    Returns:
        The bytecode; ``pack`` gives what the interpreter takes.

    Raises:
        FormulaError: The formula is not defined for these types, or needs too many registers.

    Example:
        >>> from flambeau.core.formula import parse
        >>> from flambeau.core.formula.bytecode import assemble
        >>> len(assemble(parse("a * b + a", ["a", "b"]), ["a", "b"]).code)  # with the copy out
        2
    """
    kinds = _kinds(params, compute)
    scalar_kinds = _kinds(scalars, compute)
    program = lower(exprs, compute, kinds | scalar_kinds, results, FUNCTIONS)
    return _Assembler(program, kinds, list(scalar_kinds)).assemble()


def _kinds(names: Sequence[str] | Mapping[str, str], compute: str) -> dict[str, str]:
    kinds = names if isinstance(names, Mapping) else dict.fromkeys(names, compute)
    return {name: input_type(kind, compute) for name, kind in kinds.items()}


class _Assembler:
    def __init__(self, program: Program, kinds: dict[str, str], scalars: list[str]) -> None:
        self.program = program
        self.instrs = join_pairs(program, program.used(program.roots()))
        self.inputs = list(kinds)
        self.scalars = scalars
        self.numbers = {key: FIRST_OPCODE + n for n, key in enumerate(opcodes())}
        sizes = [_SIZES[kind] for kind in kinds.values()]
        sizes += [self.output_size(numbers) for numbers in program.outputs]
        self.result = Bytecode(len(kinds), len(program.outputs), sizes=sizes)
        self.register: dict[int, int] = {}
        self.free: list[int] = []
        self.count = len(sizes)

    def output_size(self, numbers: tuple[int, ...]) -> int:
        return len(numbers) * _SIZES[self.program.instrs[numbers[0]].type]

    def assemble(self) -> Bytecode:
        last = self.last_uses()
        fixed = set(self.program.roots())
        for number, instr in self.instrs.items():
            if instr.op in ("const", "scalar"):
                self.spread(number, instr)
        for number, instr in self.instrs.items():
            if instr.op == "param":
                self.operand(number, instr)
            elif instr.args:
                self.register[number] = self.take(instr.type, fresh=number in fixed)
                self.emit(instr, self.register[number])
                self.release([a for a in set(instr.args) if last[a] == number and a not in fixed])
        self.store()
        self.result.registers = self.count
        if self.count > MAX_REGISTERS:
            raise FormulaError(f"the formula needs {self.count} registers of {MAX_REGISTERS}")
        return self.result

    def last_uses(self) -> dict[int, int]:
        return {arg: number for number, instr in self.instrs.items() for arg in instr.args}

    def take(self, kind: str, fresh: bool = False) -> int:
        """A register; a fresh one, which nothing else uses, may become an output's memory."""
        self.result.width = max(self.result.width, _SIZES[kind])
        if self.free and not fresh:
            return self.free.pop()
        self.count += 1
        return self.count - 1

    def release(self, numbers: Sequence[int]) -> None:
        for number in sorted(numbers):
            if self.instrs[number].args or self.is_part(number):
                self.free.append(self.register[number])

    def is_part(self, number: int) -> bool:
        instr = self.instrs[number]
        return instr.op == "param" and "." in str(instr.value)

    def spread(self, number: int, instr: Instr) -> None:
        """Constants and scalars: filled before the first tile, never released."""
        register = self.register[number] = self.take(instr.type)
        kind = _CODES[instr.type]
        if instr.op == "const":
            self.put(self.result.prologue, CONST, register, len(self.result.consts), 0, kind)
            self.result.consts.append(int(str(instr.value)))
            return
        name, _, part = str(instr.value).partition(".")
        component = int(part == "im")
        is_pair = int(bool(part))
        source = self.scalars.index(name)
        part_code = component + 2 * is_pair
        self.put(self.result.prologue, SCALAR, register, source, part_code, kind)

    def operand(self, number: int, instr: Instr) -> None:
        name, _, part = str(instr.value).partition(".")
        source = self.inputs.index(name)
        if not part:
            self.register[number] = source
            return
        self.register[number] = self.take(instr.type)
        is_imaginary, kind = int(part == "im"), _CODES[instr.type]
        self.put(self.result.code, PART, self.register[number], source, is_imaginary, kind)

    def emit(self, instr: Instr, target: int) -> None:
        kind = self.instrs[instr.args[-1]].type
        name = f"extern {instr.value}" if instr.op == "extern" else instr.op
        name = "select" if name == "rare" else name
        registers = [self.register[arg] for arg in instr.args]
        self.put(self.result.code, self.numbers[name, kind], target, *registers)

    def put(self, code: list[Code], op: int, target: int, *operands: int) -> None:
        """Append a line; operands that the operation does not take are 0."""
        unused = (0,) * (len(ARGUMENTS) - len(operands))
        code.append((op, target, *operands, *unused))

    def store(self) -> None:
        """Move results to the outputs, after the last read of any operand they may share.

        Where they turn out to share none of those, the interpreter has the result computed in
        the output, and saves the copy.
        """
        body = list(self.result.code)
        for number, parts in enumerate(self.program.outputs):
            target = len(self.inputs) + number
            registers = [self.register[part] for part in parts]
            kind = self.program.instrs[parts[0]].type
            if len(parts) == 2:
                self.put(self.result.code, PAIR, target, *registers, _CODES[kind])
            else:
                later = self.read_later(body, registers[0])
                copy = self.numbers["copy", kind]
                self.put(self.result.code, copy, target, registers[0], later)

    def read_later(self, body: Sequence[Code], register: int) -> int:
        """The operands, as bits, that are read once a result's register is written."""
        bits = 0
        for line in reversed(body):
            is_result = line[1] == register
            if not is_result or self.reads_twice(line):
                bits |= sum(1 << operand for operand in self.operands_of(line))
            if is_result:
                return bits
        return NEVER

    def reads_twice(self, line: Code) -> bool:
        """Functions do: their rare cases are corrected by a second pass."""
        return line[0] < FIRST_OPCODE or _opcode(line[0]).op in FUNCTIONS

    def operands_of(self, line: Code) -> set[int]:
        arity = 1 if line[0] == PART else len(_opcode(line[0]).args)
        return {register for register in line[2 : 2 + arity] if register < len(self.inputs)}


def _opcode(number: int) -> Opcode:
    return list(opcodes().values())[number - FIRST_OPCODE]
