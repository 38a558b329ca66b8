"""Groups as one function of machine code that takes row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flambeau.jit import bridge
from flambeau.jit.cache.kernels import KERNELS
from flambeau.jit.deferral.groups import Group, Kernel
from flambeau.jit.deferral.plan import Plan
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.literals import Slot
from flambeau.jit.llvm.machine import machine
from flambeau.jit.rowcode.code import RowCode
from flambeau.jit.rowcode.orders import ROUNDS, SETS, VECTOR_BYTES
from flambeau.jit.rowcode.program import CannotFuseError, Operand, RowProgram, program_of
from flambeau.jit.rowcode.schedule import Schedule

#: Threads take so many parts of the rows, or parts of so many bytes.
FEWEST_PARTS = 16
#: Rows that are shorter spend most of their time between passes.
FEW_ELEMENTS = 64
MOST_PART_BYTES = 1 << 20
#: Of a function: more would leave too little of the nearest cache to each.
MOST_OPERANDS = 16
_LINE = 64


def add_fused(plan: Plan, group: Group, needed: set[int]) -> bool:
    """Append one function for a group, if rows are all that it is about.

    Args:
        plan: what it is appended to.
        group: loops and kernels of the core that share rows.
        needed: the storages that are needed after the group.
    """
    if group.reduces_rows or not machine().has_fma:
        return False
    if not any(isinstance(item, Kernel) and not item.call.is_by_element for item in group.items):
        return False
    try:
        program = program_of(group, needed)
        code = _code_of(program)
    except CannotFuseError:
        return False
    _Step(program, code, group.rows).add_to(plan, group)
    return True


def _code_of(program: RowProgram) -> RowCode:
    """What the function is made from.

    Raises:
        CannotFuseError: it is none that can be written.
    """
    flattener, instrs = program.flattener, tuple(program.flattener.out.instrs)
    kinds = {instrs[instr.args[0]].type if instr.op == "reduce" else instr.type
             for instr in instrs if instr.op in ("reduce", "position")}
    if len(kinds) != 1:
        raise CannotFuseError("reductions of several types")
    kind = kinds.pop()
    width = VECTOR_BYTES // (8 if kind == "f64" else 4)
    code = RowCode(
        instrs, tuple((each.home.dtype, each.home.is_row) for each in program.inputs),
        tuple((each.home.dtype, each.home.is_row) for each in program.outputs),
        tuple(program.results), tuple(kind for _, kind in flattener.scalars), _streamed(program),
        width, program.elements > ROUNDS * SETS * width,
        tuple(k for k, each in enumerate(program.inputs) if each.home.turn[0]))
    schedule = code.schedule()
    _check(code, schedule)
    return code


def _check(code: RowCode, schedule: Schedule) -> None:
    """Raise unless all passes are such as can be written.

    Raises:
        CannotFuseError: they are not.
    """
    for number, instr in enumerate(code.instrs):
        if schedule.is_vector[number] and instr.op in ("extern", "ipow"):
            raise CannotFuseError("a function without vectors")
    if not code.can_write(schedule):
        raise CannotFuseError("reductions of several kinds in one pass")
    if len(code.inputs) + len(code.outputs) + len(schedule.saved) > MOST_OPERANDS:
        raise CannotFuseError("too many operands")


def _streamed(program: RowProgram) -> tuple[int, ...]:
    """The results that do not leave a quarter of the last cache free, with what is read.

    Rows that just fit it are driven out before the next call reads them.
    """
    def size(operands: Sequence[Operand]) -> int:
        return sum(math.prod(each.piece.shape) * each.piece.size for each in operands
                   if each.home.is_row and each.home.stride)

    written = size(program.outputs)
    if 4 * (size(program.inputs) + written) <= 3 * bridge.cache_bytes() or \
            4 * written < bridge.cache_bytes():
        return ()
    return tuple(k for k, each in enumerate(program.outputs) if each.home.is_row
                 and each.home.start % _LINE == 0 and each.home.stride % _LINE == 0)


class _Step:
    """The item of a plan that runs the function."""

    def __init__(self, program: RowProgram, code: RowCode, rows: int) -> None:
        self.program, self.code, self.rows = program, code, rows
        self.schedule: Schedule = code.schedule()

    def add_to(self, plan: Plan, group: Group) -> None:
        program, code = self.program, self.code
        kernel = KERNELS.get(("rows", code), lambda: code.text(machine()))
        plan.kept.append(kernel)
        plan.doubtful |= program.elements < FEW_ELEMENTS
        operands = [*program.inputs, *program.outputs]
        memories = [(-1, 0)] * len(operands)
        numbers = [each.number for each in operands]
        size = 0
        for number in sorted(self.schedule.saved):
            memories.append((size, 0))
            numbers.append(numbers[0])
            wide = 8 if code.instrs[number].type == "f64" else 4
            size += (program.elements * wide // _LINE + 3) * _LINE
        scalars = program.flattener.scalars
        values = tuple(leaf.index for leaf, _ in scalars if isinstance(leaf, Slot))
        integers = tuple(int(kind in ("i64", "bool")) for _, kind in scalars)
        words = (program.elements, *(each.home.stride for each in operands),
                 *(word for each in program.inputs if each.home.turn[0] for word in each.home.turn))
        step = (kernel.address, 1, tuple(numbers), values, integers, words, (), ())
        item = (step, tuple(memories), (), ())
        plan.steps.append(((self.rows, self.block(operands), 1, size), (item,)))
        names = "; ".join(each.name for each in group.items)
        plan.about.append(f"{self.rows} rows of {program.elements}, each at once in "
                          f"{len(self.schedule.passes)} passes: {names}")

    def block(self, operands: Sequence[Operand]) -> int:
        """Rows that a thread takes at once."""
        row = sum(self.program.elements * SIZE[each.home.dtype] for each in operands
                  if each.home.is_row and each.home.stride)
        return max(1, min(-(-self.rows // FEWEST_PARTS), MOST_PART_BYTES // max(row, 1)))
