"""One pass over a row: rounds of several vectors, then what is left, with a mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm import vectors
from flambeau.jit.rowcode.orders import SETS, VECTOR_BYTES
from flambeau.jit.rowcode.sums import Sum

if TYPE_CHECKING:
    from flambeau.jit.rowcode.code import Writer

_DTYPE = {"f32": "float32", "f64": "float64"}
_LINE = 64
#: Instructions of a pass, for each of its vectors. Where longer ones are computed four by four,
#: processors with few registers keep most of what they compute in memory.
MOST_INSTRS = 32


class Walk:
    """Writes one pass.

    Args:
        writer: what it is a part of.
        stage: its number.
    """

    def __init__(self, writer: Writer, stage: int) -> None:
        self.writer, self.stage = writer, stage
        self.out, self.code, self.instrs = writer.out, writer.code, writer.instrs
        self.own = writer.schedule.passes[stage]
        self.n, self.rounds = writer.n, writer.rounds
        self.spread: dict[int, str] = {}
        self.sums: list[Sum] = []

    def write(self) -> None:
        """Write all of it; the values of its reductions become the writer's."""
        if not self.own.numbers and not self.own.stores and not self.own.reduces:
            return
        self.out.width = self.code.width
        self.prepare()
        self.sums = [Sum(self.writer, number) for number in self.own.reduces]
        self.out.width = 0
        period = max((each.period for each in self.sums), default=0)
        if period:
            self.pieces(period)
        else:
            self.vectors("0", self.rounds, self.n)
        for each in self.sums:
            self.writer.values[each.number] = each.finish()

    def prepare(self) -> None:
        """Scalars that vectors meet, in all elements."""
        used = [self.instrs[number].args[0] for number in self.own.reduces]
        used += [self.code.results[k] for k in self.own.stores]
        for number in self.own.numbers:
            if not self.is_kept(number):
                used += self.instrs[number].args
        for number in used:
            if not self.writer.schedule.is_vector[number] and number not in self.spread:
                value = self.writer.values[number]
                self.spread[number] = vectors.spread(self.out, self.instrs[number].type, value)

    def is_kept(self, number: int) -> bool:
        """Whether an earlier pass left a value in memory."""
        return self.writer.schedule.saved.get(number, self.stage) < self.stage

    # ---- loops -------------------------------------------------------------------------------

    def pieces(self, period: int) -> None:
        """The pass piece after piece; sums that are emptied are after each."""
        out, name, before = self.out, self.writer.label("piece"), self.writer.block
        out.line(f"br label %{name}")
        out.line(f"{name}:")
        out.line(f"%at.{name} = phi i64 [0, %{before}], [%to.{name}, %{name}.last]")
        self.writer.block = name
        far = out.add(f"add i64 %at.{name}, {period}")
        inside = out.add(f"icmp slt i64 {far}, {self.n}")
        out.line(f"%to.{name} = select i1 {inside}, i64 {far}, i64 {self.n}")
        rounds = out.add(f"select i1 {inside}, i64 {far}, i64 {self.rounds}")
        self.vectors(f"%at.{name}", rounds, f"%to.{name}")
        for each in self.sums:
            if each.period:
                each.empty()
        out.line(f"br label %{name}.last")
        out.line(f"{name}.last:")
        more = out.add(f"icmp slt i64 %to.{name}, {self.n}")
        out.line(f"br i1 {more}, label %{name}, label %{name}.done")
        out.line(f"{name}.done:")
        self.writer.block = f"{name}.done"

    def vectors(self, begin: str, rounds: str, end: str) -> None:
        """Vectors from ``begin`` to ``end``; whole rounds end at ``rounds``."""
        out, name, before = self.out, self.writer.label("v"), self.writer.block
        some = out.add(f"icmp slt i64 {begin}, {rounds}")
        out.line(f"br i1 {some}, label %{name}, label %{name}.rest")
        self.loop(name, before, begin, rounds, self.code.width * SETS, f"{name}.rest")
        left = out.add(f"icmp slt i64 {rounds}, {end}")
        out.line(f"br i1 {left}, label %{name}.tail, label %{name}.end")
        self.loop(f"{name}.tail", f"{name}.rest", rounds, end, self.code.width, f"{name}.end")
        self.writer.block = f"{name}.end"

    def loop(self, name: str, before: str, begin: str, end: str, step: int, after: str) -> None:
        """A loop over indices; that of what is left has a step of one vector."""
        out, index = self.out, f"%i.{name}"
        out.line(f"{name}:")
        out.line(f"{index} = phi i64 [{begin}, %{before}], [%j.{name}, %{name}]")
        if step > self.code.width:
            self.round(index)
        else:
            self.rest(index, begin, end)
        out.line(f"%j.{name} = add nuw nsw i64 {index}, {step}")
        more = out.add(f"icmp slt i64 %j.{name}, {end}")
        out.line(f"br i1 {more}, label %{name}, label %{after}")
        out.line(f"{after}:")

    def round(self, index: str) -> None:
        """``SETS`` vectors, side by side: each instruction waits for the one before."""
        out = self.out
        at = [index] + [out.add(f"add nuw nsw i64 {index}, {k * self.code.width}")
                        for k in range(1, SETS)]
        out.width = self.code.width
        sets = [dict(self.spread) for _ in at]
        step = self.side_by_side()
        for first in range(0, SETS, step):
            group = range(first, first + step)
            for k, number in vectors.interleaved(self.own.numbers, step, self.behind()):
                sets[first + k][number] = self.value(number, sets[first + k], at[first + k])
            for each in self.sums:
                for k in group:
                    each.take(k, sets[k][each.x])
            for k in group:
                self.keep(sets[k], at[k])
        if self.stage == self.writer.schedule.longest:
            self.fetch_next(at)
        out.width = 0

    def side_by_side(self) -> int:
        """How many vectors of a round are computed together, as registers allow."""
        is_long = len(self.own.numbers) > MOST_INSTRS
        return SETS // 2 if is_long and self.writer.vector_bits < 8 * VECTOR_BYTES else SETS

    def behind(self) -> int:
        """By how many instructions vectors are behind each other, as registers allow."""
        return vectors.STAGGER if self.writer.vector_bits == 8 * VECTOR_BYTES else 0

    def rest(self, index: str, rounds: str, end: str) -> None:
        """One vector of those after whole rounds, the last of which may be incomplete."""
        out = self.out
        left = out.add(f"sub i64 {end}, {index}")
        is_whole = out.add(f"icmp sge i64 {left}, {self.code.width}")
        second = out.add(f"add i64 {rounds}, {self.code.width}")
        is_second = out.add(f"icmp eq i64 {index}, {second}")
        is_odd = out.add(f"and i1 {is_whole}, {is_second}")
        out.width = self.code.width
        mask = vectors.first_lanes(out, left)
        values = dict(self.spread)
        for number in self.own.numbers:
            values[number] = self.value(number, values, index, mask)
        for each in self.sums:
            each.take_rest(values[each.x], mask, is_whole, is_odd)
        self.keep(values, index, mask)
        out.width = 0

    # ---- elements ----------------------------------------------------------------------------

    def value(self, number: int, values: dict[int, str], index: str, mask: str = "") -> str:
        """One instruction on elements from ``index`` on."""
        instr = self.instrs[number]
        if self.is_kept(number):
            dtype = _DTYPE[instr.type]
            pointer = self.writer.address(self.writer.kept[number], dtype, index)
            return vectors.load(self.out, dtype, pointer, mask)
        if instr.op == "param":
            k = int(str(instr.value)[1:])
            dtype = self.code.inputs[k][0]
            return vectors.load(self.out, dtype, self.writer.address(k, dtype, index), mask)
        args = [values[arg] for arg in instr.args]
        if instr.op == "position":
            return vectors.positions(self.out, instr.type, index)
        return self.out.instruction(instr, [self.instrs[arg].type for arg in instr.args], args)

    def keep(self, values: dict[int, str], index: str, mask: str = "") -> None:
        """Write results, and what later passes need."""
        for number in self.own.saves:
            dtype = _DTYPE[self.instrs[number].type]
            pointer = self.writer.address(self.writer.kept[number], dtype, index)
            vectors.store(self.out, dtype, pointer, values[number], mask)
        for k in self.own.stores:
            dtype = self.code.outputs[k][0]
            pointer = self.writer.address(len(self.code.inputs) + k, dtype, index)
            vectors.store(self.out, dtype, pointer, values[self.code.results[k]], mask,
                          k in self.code.streamed)

    def fetch_next(self, at: Sequence[str]) -> None:
        """Have the next row brought to the cache."""
        out = self.out
        out.declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for k, (dtype, is_row) in enumerate(self.code.inputs):
            for index in at[:: max(1, _LINE // (SIZE[dtype] * self.code.width))] if is_row else ():
                pointer = self.writer.address(k, dtype, index)
                later = out.add(f"getelementptr i8, ptr {pointer}, i64 {self.writer.strides[k]}")
                out.line(f"call void @llvm.prefetch.p0(ptr {later}, i32 0, i32 3, i32 1)")
