"""A function over rows in LLVM's assembly: ``kernel(words, begin, end)`` runs rows of a group.

``words`` holds the addresses of operands, two words for each scalar, the elements of a row, for
each operand the bytes from row to row, and for inputs that are broadcast over some of the rows'
dimensions after how many rows these start anew, and the bytes between such runs. Operands are what
is read, what is written, and memory for values that one pass keeps for the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.core.formula import Instr
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm import vectors
from flambeau.jit.llvm.emitter import TYPES, Emitter
from flambeau.jit.llvm.kernel import Layout, load_scalars, word
from flambeau.jit.llvm.machine import Machine
from flambeau.jit.llvm.memory import load, store
from flambeau.jit.rowcode.orders import ORDERS, ROUNDS, SETS
from flambeau.jit.rowcode.schedule import Schedule
from flambeau.jit.rowcode.walk import Walk


@dataclass(frozen=True)
class RowCode:
    """What a function over rows is made from.

    Args:
        instrs: the instructions.
        inputs: dtype of each input, and whether it has elements of its own in a row.
        outputs: the same of each result.
        results: the registers of the results.
        scalars: register types of the scalars.
        streamed: the results that are written past the caches.
        width: elements of a vector.
        is_long: whether sums are emptied within a row.
        turned: the inputs whose rows are found by two strides.
    """

    instrs: tuple[Instr, ...]
    inputs: tuple[tuple[str, bool], ...]
    outputs: tuple[tuple[str, bool], ...]
    results: tuple[int, ...]
    scalars: tuple[str, ...]
    streamed: tuple[int, ...]
    width: int
    is_long: bool
    turned: tuple[int, ...] = ()

    def schedule(self) -> Schedule:
        """The passes."""
        rows = {f"p{k}" for k, (_, is_row) in enumerate(self.inputs) if is_row}
        params = [n for n, instr in enumerate(self.instrs)
                  if instr.op == "param" and instr.value in rows]
        return Schedule(self.instrs, params, self.results, [wide for _, wide in self.outputs])

    def period_of(self, number: int) -> int:
        """After how many elements a reduction's sums are emptied; 0: at the end."""
        own = ORDERS[str(self.instrs[number].value)].period
        if own < 0:
            return ROUNDS * SETS * self.width if self.is_long else 0
        return own

    def can_write(self, schedule: Schedule) -> bool:
        """Whether each pass empties all its sums at once."""
        return all(len({self.period_of(number) for number in each.reduces} - {0}) <= 1
                   for each in schedule.passes)

    def text(self, machine: Machine) -> str:
        """The module."""
        writer = Writer(self, self.schedule(), Emitter(machine.has_fma), machine.vector_bits)
        text = writer.function()
        declared = "\n".join(sorted(writer.out.declared))
        bits = machine.vector_bits
        return (f"{vectors.WRITTEN}{declared}\n{text}\n"
                f'attributes #0 = {{ "prefer-vector-width"="{bits}" }}\n'
                f"!2 = !{{i32 1}}\n")


@dataclass
class Writer:
    """Writes the function.

    Args:
        code: what it is made from.
        schedule: its passes.
        out: where to.
        vector_bits: of the processor's vectors.
    """

    code: RowCode
    schedule: Schedule
    out: Emitter
    vector_bits: int

    def __post_init__(self) -> None:
        self.instrs = self.code.instrs
        self.rows = len(self.code.inputs) + len(self.code.outputs)
        self.kept = {number: self.rows + k for k, number in enumerate(sorted(self.schedule.saved))}
        self.layout = Layout(self.rows + len(self.kept), len(self.code.scalars))
        self.values: dict[int, str] = {}
        self.locals: list[tuple[str, str]] = []
        self.labels = 0
        self.block = "row"

    def function(self) -> str:
        """``kernel``: what is the same for all rows, then a loop over rows."""
        out = self.out
        bases = [word(out, k, "ptr") for k in range(self.layout.operands)]
        scalars = load_scalars(out, self.code.scalars, self.layout)
        self.scalars = [text.split(" ")[1] for text in scalars]
        self.n = word(out, self.layout.step)
        self.strides = [word(out, self.layout.step + 1 + k) for k in range(self.rows)]
        self.rounds = out.add(f"and i64 {self.n}, {-(self.code.width * SETS)}")
        first = self.layout.step + 1 + self.rows
        self.turns = {number: (word(out, first + 2 * k), word(out, first + 2 * k + 1))
                      for k, number in enumerate(self.code.turned)}
        out.line("br label %head")
        out.line("head:")
        out.line("%r = phi i64 [%begin, %entry], [%r.next, %next]")
        out.line("%more = icmp slt i64 %r, %end")
        out.line("br i1 %more, label %row, label %exit")
        out.line("row:")
        self.pointers = [out.add(f"getelementptr i8, ptr {base}, i64 {self.distance(k)}")
                         for k, base in enumerate(bases[: self.rows])] + bases[self.rows :]
        self.row()
        out.line("br label %next")
        out.line("next:")
        out.line("%r.next = add nuw nsw i64 %r, 1")
        out.line("br label %head")
        out.line("exit:")
        out.line("ret void")
        variables = [f"  {name} = alloca {kind}" for name, kind in self.locals]
        define = "define void @kernel(ptr noalias %words, i64 %begin, i64 %end) #0 {\nentry:"
        return "\n".join([define, *variables, *out.lines, "}"])

    def distance(self, k: int) -> str:
        """Bytes from an operand's first row to the one that runs."""
        out = self.out
        if k not in self.turns:
            return out.add(f"mul i64 %r, {self.strides[k]}")
        count, far = self.turns[k]
        row = out.add(f"urem i64 %r, {count}")
        run = out.add(f"udiv i64 %r, {count}")
        near = out.add(f"mul i64 {row}, {self.strides[k]}")
        return out.add(f"add i64 {near}, {out.add(f'mul i64 {run}, {far}')}")

    def row(self) -> None:
        """One row: passes, each after the scalars that those before allow."""
        for stage, numbers in enumerate(self.schedule.scalars):
            for number in numbers:
                self.values[number] = self.scalar(self.instrs[number])
            if stage < len(self.schedule.passes):
                Walk(self, stage).write()
        for k, (dtype, is_row) in enumerate(self.code.outputs):
            if not is_row:
                pointer = self.pointers[len(self.code.inputs) + k]
                store(self.out, dtype, pointer, (self.values[self.code.results[k]],))

    def scalar(self, instr: Instr) -> str:
        """What a row has once."""
        out = self.out
        if instr.op == "param":
            k = int(str(instr.value)[1:])
            return load(out, self.code.inputs[k][0], self.pointers[k])[0]
        if instr.op == "scalar":
            return self.scalars[int(str(instr.value)[1:])]
        if instr.op == "length":
            return self.n if instr.type == "i64" else \
                out.add(f"sitofp i64 {self.n} to {TYPES[instr.type]}")
        if instr.op == "at":
            return self.element(instr.args[0], self.values[instr.args[1]], {})
        kinds = [self.instrs[arg].type for arg in instr.args]
        return out.instruction(instr, kinds, [self.values[arg] for arg in instr.args])

    def element(self, number: int, index: str, known: dict[int, str]) -> str:
        """A value of vectors at one index, computed for it alone."""
        instr = self.instrs[number]
        if not self.schedule.is_vector[number]:
            return self.values[number]
        if number not in known and instr.op == "param":
            k = int(str(instr.value)[1:])
            dtype = self.code.inputs[k][0]
            known[number] = load(self.out, dtype, self.address(k, dtype, index))[0]
        elif instr.op == "position":
            known[number] = self.out.add(f"sitofp i64 {index} to {TYPES[instr.type]}")
        elif number not in known:
            args = [self.element(arg, index, known) for arg in instr.args]
            kinds = [self.instrs[arg].type for arg in instr.args]
            known[number] = self.out.instruction(instr, kinds, args)
        return known[number]

    def address(self, k: int, dtype: str, index: str) -> str:
        """Where an element of an operand lies."""
        return self.out.add(
            f"getelementptr inbounds [{SIZE[dtype]} x i8], ptr {self.pointers[k]}, i64 {index}")

    def label(self, name: str) -> str:
        """A name for a block."""
        self.labels += 1
        return f"{name}{self.labels}"
