"""Functions over rows, as the core's kernels take them: ``rowcode``'s, for operands of an address.

Softmax, normalizations, and reductions of the last dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flambeau.jit.ir import Graph
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm.machine import Machine
from flambeau.jit.region import Flattener
from flambeau.jit.rowcode.code import RowCode
from flambeau.jit.rowcode.formulas import Maker
from flambeau.jit.rowcode.orders import ROUNDS, SETS, VECTOR_BYTES

WIDTH = VECTOR_BYTES // 4
_LINE = 64


@dataclass(frozen=True)
class RowOperand:
    """A dtype, the elements from row to row, and whether it has more than one in a row."""

    dtype: str
    stride: int
    is_row: bool


@dataclass
class Rows:
    """A function over rows.

    Args:
        text: the module; it takes inputs, results, and memory for what is kept in a row.
        kept: bytes of that memory.
    """

    text: str
    kept: int


Formula = Callable[[Maker, list[int]], Sequence[int]]


def rows_of(
    count: int, elements: int, inputs: Sequence[RowOperand], outputs: Sequence[RowOperand],
    formula: Formula, machine: Machine,
) -> Rows:
    """The function for so many rows.

    Args:
        count: of rows.
        elements: of a row.
        inputs: what is read.
        outputs: what is written.
        formula: gives the registers of the results for those of the inputs.
        machine: what the code is made for.
    """
    flattener = Flattener(Graph())
    registers = [flattener.load(f"p{k}", each.dtype)[0] for k, each in enumerate(inputs)]
    results = formula(Maker(flattener, "f32", elements), registers)
    instrs = tuple(flattener.out.instrs)
    code = RowCode(
        instrs, tuple((each.dtype, each.is_row) for each in inputs),
        tuple((each.dtype, each.is_row) for each in outputs), tuple(results), (), (), WIDTH,
        elements > ROUNDS * SETS * WIDTH)
    schedule = code.schedule()
    sizes = [(elements * (8 if instrs[k].type == "f64" else 4) // _LINE + 3) * _LINE
             for k in sorted(schedule.saved)]
    strides = [each.stride * SIZE[each.dtype] for each in (*inputs, *outputs)]
    text = code.text(machine).replace("define void @kernel(", "define internal void @kernel(")
    return Rows(f"{text}\n{_entry(count, elements, strides, sizes)}", sum(sizes))


def _entry(count: int, elements: int, strides: Sequence[int], kept: Sequence[int]) -> str:
    """What fills in the words: addresses, elements of a row, strides."""
    rows, memories = len(strides), len(kept)
    args = [f"ptr %a{k}" for k in range(rows + bool(kept))]
    lines = [f"  %words = alloca [{2 * rows + memories + 1} x i64]"]

    def put(position: int, kind: str, value: str) -> None:
        lines.append(f"  %w{position} = getelementptr i64, ptr %words, i64 {position}")
        lines.append(f"  store {kind} {value}, ptr %w{position}")

    for k in range(rows):
        put(k, "ptr", f"%a{k}")
    start = 0
    for k, size in enumerate(kept):
        lines.append(f"  %kept{k} = getelementptr i8, ptr %a{rows}, i64 {start}")
        put(rows + k, "ptr", f"%kept{k}")
        start += size
    for k, value in enumerate((elements, *strides), rows + memories):
        put(k, "i64", str(value))
    lines += [f"  call void @kernel(ptr %words, i64 0, i64 {count})", "  ret void"]
    body = "\n".join(lines)
    return f"define void @entry({', '.join(args)}) #0 {{\n{body}\n}}\n"
