"""One reduction in a pass: accumulators, what was emptied from them, and its value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau.jit.llvm import vectors
from flambeau.jit.llvm.emitter import constant_float
from flambeau.jit.rowcode.orders import NEUTRAL, ORDERS, SETS

if TYPE_CHECKING:
    from flambeau.jit.rowcode.code import Writer


class Sum:
    """Writes one reduction; accumulators are variables, which LLVM turns into registers.

    Args:
        writer: what it is a part of.
        number: of its instruction.
    """

    def __init__(self, writer: Writer, number: int) -> None:
        self.out, self.number, self.width = writer.out, number, writer.code.width
        instr = writer.instrs[number]
        self.order = ORDERS[str(instr.value)]
        self.x = instr.args[0]
        self.kind = writer.instrs[self.x].type
        self.period = writer.code.period_of(number)
        self.type = self.out.type(self.kind)
        self.neutral = self.out.number(self.kind, constant_float(NEUTRAL[self.order.op]))
        self.beyond = self.neutral
        if len(instr.args) > 1:
            self.beyond = vectors.spread(self.out, self.kind, writer.values[instr.args[1]])
        self.sets = [f"%set{number}.{k}" for k in range(self.order.count)]
        self.total, self.total_type, empty = f"%total{number}", self.type, self.neutral
        if self.order.is_wide:
            self.total_type, empty = "double", constant_float(0.0)
        for name in self.sets:
            writer.locals.append((name, self.type))
            self.set(name, self.neutral)
        if self.period:
            writer.locals.append((self.total, self.total_type))
            self.out.line(f"store {self.total_type} {empty}, ptr {self.total}")

    def get(self, name: str) -> str:
        return self.out.add(f"load {self.type}, ptr {name}")

    def set(self, name: str, value: str) -> None:
        self.out.line(f"store {self.type} {value}, ptr {name}")

    def both(self, before: str, x: str) -> str:
        """An accumulator and a vector that it takes."""
        a, b = (x, before) if self.order.op == "above" else (before, x)
        return vectors.combine(self.out, self.order.op, self.kind, a, b)

    def take(self, k: int, x: str) -> None:
        """Take vector number ``k`` of a round."""
        name = self.sets[k % self.order.sets]
        self.set(name, self.both(self.get(name), x))

    def take_rest(self, x: str, mask: str, is_whole: str, is_odd: str) -> None:
        """Take a vector of those after whole rounds, some of whose elements may not be there."""
        x = self.out.op_select(self.kind, mask, x, self.beyond)
        first, second, test = *(self.order.rest or (1, 0)), is_whole if self.order.rest else is_odd
        if first == second:
            self.set(self.sets[first], self.both(self.get(self.sets[first]), x))
            return
        for k, is_first in ((first, True), (second, False)):
            before = self.get(self.sets[k])
            after = self.both(before, x)
            yes, no = (after, before) if is_first else (before, after)
            chosen = self.out.add(f"select i1 {test}, {self.type} {yes}, {self.type} {no}")
            self.set(self.sets[k], chosen)

    def joined(self) -> str:
        """The sets as one vector."""
        sets = [self.get(name) for name in self.sets[: self.order.sets]]
        while len(sets) > 1:
            sets = [vectors.combine(self.out, self.order.op, self.kind, a, b)
                    for a, b in zip(sets[::2], sets[1::2], strict=True)]
        return sets[0]

    def empty(self) -> None:
        """Add the sets to the total."""
        out, kind = self.out, self.kind
        out.width = self.width
        value = self.joined()
        emptied = self.sets if self.order.is_wide else self.sets[: self.order.sets]
        for name in emptied:
            self.set(name, self.neutral)
        if self.order.is_wide:
            value = vectors.across(out, self.order.join, kind, value)
            out.width = 0
            value, kind = out.convert(kind, "f64", value), "f64"
        before = out.add(f"load {self.total_type}, ptr {self.total}")
        after = vectors.combine(out, self.order.op, kind, before, value)
        out.line(f"store {self.total_type} {after}, ptr {self.total}")
        out.width = 0

    def finish(self) -> str:
        """The value, a scalar."""
        out, op = self.out, self.order.op
        if self.order.is_wide:
            return out.add(f"load double, ptr {self.total}")
        out.width = self.width
        value = self.get(self.total) if self.period else self.joined()
        if self.order.period < 0:
            if not self.period:
                value = vectors.combine(out, op, self.kind, self.neutral, value)
            value = vectors.combine(out, op, self.kind, value, self.get(self.sets[SETS]))
        value = vectors.across(out, self.order.join, self.kind, value)
        out.width = 0
        return value
