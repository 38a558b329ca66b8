"""Loops over constant sizes in LLVM's assembly.

Counters and sums are variables in memory, which LLVM turns into registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from flambeau.jit.llvm.emitter import Emitter, constant_float
from flambeau.jit.llvm.machine import Machine

ZERO, MINUS_ZERO = constant_float(0.0), constant_float(-0.0)


class Loops(Emitter):
    """One function ``entry(ptr %a0, ...)``.

    Args:
        machine: what the code is made for.
        operands: how many pointers it takes.
    """

    def __init__(self, machine: Machine, operands: int) -> None:
        super().__init__(machine.has_fma)
        self.machine, self.operands = machine, operands
        self.locals: list[str] = []
        self.labels = 0

    def variable(self, kind: str) -> str:
        """Memory of one value."""
        name = f"%v{len(self.locals)}"
        self.locals.append(f"  {name} = alloca {kind}")
        return name

    @contextmanager
    def loop(self, count: int, step: int = 1) -> Iterator[str]:
        """What is emitted inside runs for 0, step, 2 * step ... below a count that is not 0."""
        assert count > 0, "what is inside would run once"
        if count <= step:
            yield "0"
            return
        self.labels += 1
        number, counter = self.labels, self.variable("i64")
        self.line(f"store i64 0, ptr {counter}")
        self.line(f"br label %loop{number}")
        self.line(f"loop{number}:")
        index = self.add(f"load i64, ptr {counter}")
        yield index
        following = self.add(f"add nuw nsw i64 {index}, {step}")
        self.line(f"store i64 {following}, ptr {counter}")
        more = self.add(f"icmp slt i64 {following}, {count}")
        self.line(f"br i1 {more}, label %loop{number}, label %done{number}")
        self.line(f"done{number}:")

    @contextmanager
    def loops(self, counts: Sequence[int]) -> Iterator[list[str]]:
        """Loops inside loops; their indices."""
        if not counts:
            yield []
            return
        with self.loop(counts[0]) as first, self.loops(counts[1:]) as rest:
            yield [first, *rest]

    def offset(self, *terms: tuple[str, int], start: int = 0) -> str:
        """The sum of indices times constants."""
        total = str(start)
        for index, factor in terms:
            if factor == 0 or index == "0":
                continue
            part = index if factor == 1 else self.add(f"mul nsw i64 {index}, {factor}")
            total = part if total == "0" else self.add(f"add nsw i64 {total}, {part}")
        return total

    def at(self, pointer: str, index: str, kind: str = "float") -> str:
        """The address of an element."""
        if index == "0":
            return pointer
        return self.add(f"getelementptr {kind}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, kind: str = "float", align: int = 4) -> str:
        return self.add(f"load {kind}, ptr {pointer}, align {align}")

    def store(self, value: str, pointer: str, kind: str = "float", align: int = 4) -> None:
        self.line(f"store {kind} {value}, ptr {pointer}, align {align}")

    def vector(self, lanes: int) -> str:
        """LLVM's type of so many floats."""
        return f"<{lanes} x float>"

    def splat(self, value: str, lanes: int) -> str:
        """A float in all elements of a vector."""
        kind = self.vector(lanes)
        first = self.add(f"insertelement {kind} poison, float {value}, i64 0")
        return self.add(f"shufflevector {kind} {first}, {kind} poison, "
                        f"<{lanes} x i32> zeroinitializer")

    def mask(self, count: int, lanes: int) -> str:
        """The first elements, as a constant."""
        return "<" + ", ".join(f"i1 {int(k < count)}" for k in range(lanes)) + ">"

    def load_part(self, pointer: str, count: int, lanes: int) -> str:
        """The first elements of a vector, zeros behind them."""
        kind = self.vector(lanes)
        if count >= lanes:
            return self.load(pointer, kind)
        name = f"@llvm.masked.load.v{lanes}f32.p0"
        self.declared.add(f"declare {kind} {name}(ptr, i32, <{lanes} x i1>, {kind})")
        return self.add(f"call {kind} {name}(ptr {pointer}, i32 4, "
                        f"<{lanes} x i1> {self.mask(count, lanes)}, {kind} zeroinitializer)")

    def store_part(self, value: str, pointer: str, count: int, lanes: int) -> None:
        """Write the first elements of a vector."""
        kind = self.vector(lanes)
        if count >= lanes:
            self.store(value, pointer, kind)
            return
        name = f"@llvm.masked.store.v{lanes}f32.p0"
        self.declared.add(f"declare void {name}({kind}, ptr, i32, <{lanes} x i1>)")
        self.line(f"call void {name}({kind} {value}, ptr {pointer}, i32 4, "
                  f"<{lanes} x i1> {self.mask(count, lanes)})")

    def fma(self, a: str, b: str, c: str, lanes: int) -> str:
        """``a * b + c`` of vectors in one rounding."""
        self.width = lanes
        value = self.op_fma("f32", a, b, c)
        self.width = 0
        return value

    def relu(self, value: str, lanes: int) -> str:
        """0 where negative; NaN stays."""
        self.width = lanes
        zero = self.number("f32", ZERO)
        below = self.compare("lt", "f32", (value, zero))
        value = self.op_select("f32", below, zero, value)
        self.width = 0
        return value

    def text(self) -> str:
        """The module."""
        args = ", ".join(f"ptr noalias %a{k}" for k in range(self.operands))
        declared = "\n".join(sorted(self.declared))
        width = f'attributes #0 = {{ "prefer-vector-width"="{self.machine.vector_bits}" }}'
        body = "\n".join([*self.locals, *self.lines])
        begin = f"{declared}\ndefine void @entry({args}) #0 {{\nentry:\n"
        return f"{begin}{body}\n  ret void\n}}\n{width}\n"
