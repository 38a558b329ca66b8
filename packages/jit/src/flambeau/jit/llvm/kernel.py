"""A region as an LLVM module: the function ``kernel(words, begin, end)``.

The function has the signature of the core's parallel chunks. It runs elements ``begin`` to
``end`` of a grid whose innermost dimension is walked by a plain loop that LLVM vectorizes.
``words`` is an array of 64-bit words, laid out by ``Layout``.

Where a formula has a rare case, a tile is computed without it first; if it occurred anywhere in
the tile, the tile is computed again in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.core.formula import Program
from flambeau.jit.convert import PARTS
from flambeau.jit.llvm.emitter import TYPES, Emitter
from flambeau.jit.llvm.machine import Machine
from flambeau.jit.llvm.memory import SIZE, load, store
from flambeau.jit.region import Region

TILE = 1024

#: How an operand steps along the innermost dimension: element by element, not at all, by a
#: number of bytes given at run time.
CONTIGUOUS, FIXED, STRIDED = "c", "f", "s"

#: Four vectors side by side: in a long formula each instruction waits for the one before, and a
#: processor does not look far enough ahead to find the next vector by itself.
INTERLEAVED = """!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.interleave.count", i32 4}"""


@dataclass(frozen=True)
class Layout:
    """Where things stand in ``words``, for a number of operands and scalars."""

    operands: int
    scalars: int

    @property
    def scalar(self) -> int:
        """First scalar; each takes two words. Before it stand the operands' addresses."""
        return self.operands

    @property
    def step(self) -> int:
        """The operands' steps along the innermost dimension, in bytes."""
        return self.scalar + 2 * self.scalars

    @property
    def inner(self) -> int:
        """The innermost size, then the number of further dimensions."""
        return self.step + self.operands

    @property
    def outer(self) -> int:
        """For each further dimension, inner ones first: its size, then each operand's stride."""
        return self.inner + 2

    @property
    def record(self) -> int:
        """Words for each further dimension."""
        return 1 + self.operands


def kernel_text(
    region: Region, steps: str, machine: Machine, overwrites: Sequence[int] = ()
) -> str:
    """The module.

    Args:
        region: what to compute.
        steps: a letter for each input, then for each output: ``c``, ``f`` or ``s``.
        machine: what the code is made for.
        overwrites: for each output the input that lies in the same memory, or -1; none: all -1.

    Returns:
        LLVM assembly.
    """
    segment = _Segment(region, steps, machine.has_fma, overwrites)
    text = segment.text()
    declarations = "\n".join(sorted(segment.out.declared))
    width = f'attributes #0 = {{ "prefer-vector-width"="{machine.vector_bits}" }}'
    return f"{declarations}\n{text}\n{_driver(segment)}\n{width}\n{INTERLEAVED}\n"


class _Segment:
    """The function that runs one stretch along the innermost dimension."""

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


def _driver(segment: _Segment) -> str:
    """The entry point: finds where each stretch begins and runs it."""
    layout = Layout(len(segment.dtypes), len(segment.region.scalars))
    out = Emitter()
    bases = [word(out, k, "ptr") for k in range(layout.operands)]
    scalars = load_scalars(out, [kind for _, kind in segment.region.scalars], layout)
    steps = [word(out, layout.step + k) for k in range(layout.operands)]
    inner, dims = word(out, layout.inner), word(out, layout.inner + 1)
    out.line("br label %head")
    out.line("head:")
    out.line("%i = phi i64 [%begin, %entry], [%i.next, %run]")
    out.line("%more = icmp slt i64 %i, %end")
    out.line("br i1 %more, label %row, label %exit")
    out.line("row:")
    out.line(f"%number = udiv i64 %i, {inner}")
    column = out.add(f"sub i64 %i, {out.add(f'mul i64 %number, {inner}')}")
    offsets = _offsets(out, layout, dims)
    out.line("run:")
    left, rest = out.add("sub i64 %end, %i"), out.add(f"sub i64 {inner}, {column}")
    fewer = out.add(f"icmp slt i64 {left}, {rest}")
    out.line(f"%n = select i1 {fewer}, i64 {left}, i64 {rest}")
    arguments = ["i64 %n"]
    for k in range(layout.operands):
        along = out.add(f"mul i64 {column}, {steps[k]}")
        total = out.add(f"add i64 {offsets[k]}, {along}")
        arguments.append(f"ptr {out.add(f'getelementptr i8, ptr {bases[k]}, i64 {total}')}")
    arguments += scalars
    arguments += [f"i64 {steps[k]}" for k, step in enumerate(segment.steps) if step == STRIDED]
    out.line(f"call void @segment({', '.join(arguments)})")
    out.line("%i.next = add i64 %i, %n")
    out.line("br label %head")
    out.line("exit:")
    out.line("ret void")
    head = "define void @kernel(ptr %words, i64 %begin, i64 %end) #0 {\nentry:"
    return "\n".join([head, *out.lines, "}"])


def _offsets(out: Emitter, layout: Layout, dims: str) -> list[str]:
    """A loop over the outer dimensions that turns the row's number into byte offsets."""
    names = [f"%o{k}" for k in range(layout.operands)]
    out.line("br label %dim")
    out.line("dim:")
    out.line("%d = phi i64 [0, %row], [%d.next, %axis]")
    out.line("%r = phi i64 [%number, %row], [%r.next, %axis]")
    for name in names:
        out.line(f"{name} = phi i64 [0, %row], [{name}.next, %axis]")
    out.line(f"%inside = icmp slt i64 %d, {dims}")
    out.line("br i1 %inside, label %axis, label %run")
    out.line("axis:")
    start = out.add(f"add i64 {out.add(f'mul i64 %d, {layout.record}')}, {layout.outer}")
    size = word(out, start)
    out.line(f"%r.next = udiv i64 %r, {size}")
    position = out.add(f"sub i64 %r, {out.add(f'mul i64 %r.next, {size}')}")
    for k, name in enumerate(names):
        stride = word(out, out.add(f"add i64 {start}, {k + 1}"))
        out.line(f"{name}.next = add i64 {name}, {out.add(f'mul i64 {position}, {stride}')}")
    out.line("%d.next = add i64 %d, 1")
    out.line("br label %dim")
    return names


def load_scalars(out: Emitter, kinds: Sequence[str], layout: Layout) -> list[str]:
    """Each scalar's registers, as arguments: stored as doubles, integers or bools."""
    arguments = []
    for number, kind in enumerate(kinds):
        parts = 2 if kind in ("c64", "c128") else 1
        for part in range(parts):
            position = layout.scalar + 2 * number + part
            arguments.append(_scalar(out, kind, position))
    return arguments


def _scalar(out: Emitter, kind: str, position: int) -> str:
    if kind in ("i64", "bool"):
        bits = word(out, position)
        return f"i64 {bits}" if kind == "i64" else f"i1 {out.add(f'icmp ne i64 {bits}, 0')}"
    wide = word(out, position, "double")
    if kind in ("f64", "c128"):
        return f"double {wide}"
    return f"float {out.convert('f64', 'f32', wide)}"


def word(out: Emitter, position: int | str, kind: str = "i64") -> str:
    """One of ``words``."""
    address = out.add(f"getelementptr i64, ptr %words, i64 {position}")
    return out.add(f"load {kind}, ptr {address}")
