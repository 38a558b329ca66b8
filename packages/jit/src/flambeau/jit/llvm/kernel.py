"""A region as an LLVM module: the function ``kernel(words, begin, end)``.

The function has the signature of the core's parallel chunks. It runs elements ``begin`` to
``end`` of a grid whose innermost dimension is walked by a plain loop that LLVM vectorizes.
``words`` is an array of 64-bit words, laid out by ``Layout``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flambeau.jit.llvm.emitter import Emitter
from flambeau.jit.llvm.machine import Machine
from flambeau.jit.llvm.segment import STRIDED, Segment
from flambeau.jit.llvm.vectors import WRITTEN
from flambeau.jit.llvm.wide import WideSegment, can_be_wide
from flambeau.jit.region import Region

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
    region: Region, steps: str, machine: Machine, overwrites: Sequence[int] = (),
    is_short: bool = False,
) -> str:
    """The module.

    Args:
        region: what to compute.
        steps: a letter for each input, then for each output: ``c``, ``f`` or ``s``.
        machine: what the code is made for.
        overwrites: for each output the input that lies in the same memory, or -1; none: all -1.
        is_short: whether stretches are too short for the preparations of wide code.

    Returns:
        LLVM assembly.
    """
    is_wide = not is_short and can_be_wide(region, steps, machine)
    segment = (WideSegment(region, steps, machine, overwrites) if is_wide else
               Segment(region, steps, machine.has_fma, overwrites))
    text = segment.text()
    declarations = "\n".join(sorted(segment.out.declared))
    width = f'attributes #0 = {{ "prefer-vector-width"="{machine.vector_bits}" }}'
    return (f"{WRITTEN if is_wide else ''}{declarations}\n{text}\n{_driver(segment)}\n{width}\n"
            f"{INTERLEAVED}\n")


def _driver(segment: Segment) -> str:
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
