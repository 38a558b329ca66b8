"""The function that runs one stretch along the innermost dimension of a region's grid.

Its loop is over single elements, and LLVM makes vectors of them. Where a formula has a rare case,
a tile is computed without it first; if it occurred anywhere in the tile, the tile is computed again
in full.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.core.formula import Program
from flambeau.jit.convert import PARTS
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm.emitter import TYPES, Emitter
from flambeau.jit.llvm.memory import load, store
from flambeau.jit.region import Region

TILE = 1024

#: How an operand steps along the innermost dimension: element by element, not at all, by a
#: number of bytes given at run time.
CONTIGUOUS, FIXED, STRIDED = "c", "f", "s"


class Segment:
    """Writes the function.

    Args:
        region: what to compute.
        steps: a letter for each input, then for each output.
        has_fma: see ``Emitter``.
        overwrites: for each output the input that lies in the same memory, or -1; none: all -1.
    """

    def __init__(
        self, region: Region, steps: str, has_fma: bool, overwrites: Sequence[int]
    ) -> None:
        self.region = region
        self.program: Program = region.program
        self.steps = steps
        self.dtypes = [*region.inputs, *region.outputs]
        self.out = Emitter(has_fma)
        self.roots = self.program.roots()
        self.fast = _needed(self.program, self.roots)
        rare = [i for i in self.fast if self.program.instrs[i].op == "rare"]
        # a tile is computed twice only while what it reads is still there
        in_place = any(k >= 0 for k in overwrites)
        self.flags = [] if in_place else [self.program.instrs[i].args[0] for i in rare]
        first = len(region.inputs)
        self.pointers = [f"%p{k}" for k in range(len(self.dtypes))]
        for k, source in enumerate(overwrites, first):
            if source >= 0:
                self.pointers[k] = f"%p{source}"
        self.has_rare_cases = bool(rare) and in_place
        self.fixed: dict[int, tuple[str, ...]] = {}

    def scalar_params(self) -> list[tuple[str, str]]:
        """Type and name of each scalar's registers."""
        params = []
        for number, (_, kind) in enumerate(self.region.scalars):
            parts = PARTS["complex64"] if kind in ("c64", "c128") else ("",)
            register = {"bool": "b", "c64": "f32", "c128": "f64"}.get(kind, kind)
            params += [(TYPES[register], f"%s{number}{part}") for part in parts]
        return params

    def params(self) -> list[str]:
        pointers = [f"ptr noalias %p{k}" for k in range(len(self.dtypes))]
        scalars = [f"{kind} {name}" for kind, name in self.scalar_params()]
        strides = [f"i64 %d{k}" for k, step in enumerate(self.steps) if step == STRIDED]
        return ["i64 %n", *pointers, *scalars, *strides]

    def text(self) -> str:
        out = self.out
        for k, dtype in enumerate(self.region.inputs):
            if self.steps[k] == FIXED:
                self.fixed[k] = load(out, dtype, f"%p{k}")
        if self.flags:
            self.tiles()
        else:
            full = self.program.used(self.roots) if self.has_rare_cases else self.fast
            self.loop("all", "0", "%n", full, "entry", "done")
        out.line("done:")
        out.line("ret void")
        head = f"define internal void @segment({', '.join(self.params())}) #0 {{\nentry:"
        return "\n".join([head, *out.lines, "}"])

    def tiles(self) -> None:
        """Tile by tile: without the rare cases, then again in full if one of them came up."""
        out = self.out
        out.line("br label %tile")
        out.line("tile:")
        out.line("%from = phi i64 [0, %entry], [%to, %next]")
        end = out.add(f"add i64 %from, {TILE}")
        within = out.add(f"icmp slt i64 {end}, %n")
        out.line(f"%to = select i1 {within}, i64 {end}, i64 %n")
        flag = self.loop("fast", "%from", "%to", self.fast, "tile", "test")
        out.line("test:")
        out.line(f"%rare = icmp ne i32 {flag}, 0")
        out.line("br i1 %rare, label %again, label %next")
        out.line("again:")
        full = self.program.used(self.roots)
        self.loop("slow", "%from", "%to", full, "again", "next")
        out.line("next:")
        out.line("%more = icmp slt i64 %to, %n")
        out.line("br i1 %more, label %tile, label %done")

    def loop(
        self, name: str, begin: str, end: str, numbers: Sequence[int], before: str, after: str
    ) -> str:
        """A loop over elements; the name of the flag it gathers, when it leaves out rare cases."""
        out = self.out
        out.line(f"br label %{name}")
        out.line(f"{name}:")
        out.line(f"%i.{name} = phi i64 [{begin}, %{before}], [%j.{name}, %{name}]")
        gathers = name == "fast"
        if gathers:
            out.line(f"%flag = phi i32 [0, %{before}], [%flag.next, %{name}]")
        values = self.body(f"%i.{name}", numbers, rare_cases=self.has_rare_cases or name == "slow")
        if gathers:
            self.gather_flags(values)
        out.line(f"%j.{name} = add nuw nsw i64 %i.{name}, 1")
        more = out.add(f"icmp slt i64 %j.{name}, {end}")
        out.line(f"br i1 {more}, label %{name}, label %{after}, !llvm.loop !0")
        return "%flag.next"

    def gather_flags(self, values: dict[int, str]) -> None:
        out = self.out
        total = values[self.flags[0]]
        for flag in self.flags[1:]:
            total = out.add(f"or i1 {total}, {values[flag]}")
        out.line(f"%flag.next = or i32 %flag, {out.add(f'zext i1 {total} to i32')}")

    def body(self, index: str, numbers: Sequence[int], rare_cases: bool) -> dict[int, str]:
        """Load, compute and store one element; the values by instruction."""
        loaded: dict[int, tuple[str, ...]] = dict(self.fixed)
        values: dict[int, str] = {}
        for number in sorted(set(numbers) | set(self.flags if not rare_cases else ())):
            values[number] = self.value(number, values, loaded, index, rare_cases)
        first = len(self.region.inputs)
        for k, registers in enumerate(self.program.outputs, first):
            texts = tuple(values[number] for number in registers)
            store(self.out, self.dtypes[k], self.address(k, index), texts)
        return values

    def value(
        self, number: int, values: dict[int, str], loaded: dict[int, tuple[str, ...]],
        index: str, rare_cases: bool,
    ) -> str:
        instr = self.program.instrs[number]
        if instr.op == "param":
            name, _, part = str(instr.value).partition(".")
            k = int(name[1:])
            if k not in loaded:
                loaded[k] = load(self.out, self.dtypes[k], self.address(k, index))
            return loaded[k][part == "im"]
        if instr.op == "scalar":
            return f"%{instr.value}"
        if instr.op == "rare" and not rare_cases:
            return values[instr.args[2]]
        kinds = [self.program.instrs[arg].type for arg in instr.args]
        return self.out.instruction(instr, kinds, [values[arg] for arg in instr.args])

    def address(self, k: int, index: str) -> str:
        pointer = self.pointers[k]
        if self.steps[k] == FIXED:
            return pointer
        if self.steps[k] == CONTIGUOUS:
            size = SIZE[self.dtypes[k]]
            return self.out.add(f"getelementptr inbounds [{size} x i8], ptr {pointer}, i64 {index}")
        offset = self.out.add(f"mul i64 {index}, %d{k}")
        return self.out.add(f"getelementptr i8, ptr {pointer}, i64 {offset}")


def _needed(program: Program, roots: Sequence[int]) -> list[int]:
    """The instructions of the usual case: of a rare one its test and its usual value."""
    stack = list(roots)
    needed: set[int] = set()
    while stack:
        number = stack.pop()
        if number not in needed:
            needed.add(number)
            instr = program.instrs[number]
            stack.extend((instr.args[0], instr.args[2]) if instr.op == "rare" else instr.args)
    return sorted(needed)
