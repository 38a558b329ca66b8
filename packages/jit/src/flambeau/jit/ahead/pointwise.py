"""Fused regions, single pointwise operators and copies: the compiler's loops on fixed grids."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.jit.ahead.unit import Place, Unit
from flambeau.jit.dims import Dim
from flambeau.jit.errors import ProgramError
from flambeau.jit.ir import Graph, Node
from flambeau.jit.itemsizes import SIZE
from flambeau.jit.llvm.grid import broadcast_strides, make_grid
from flambeau.jit.llvm.kernel import kernel_text
from flambeau.jit.llvm.launch import RegionCode, grid_words
from flambeau.jit.region import flatten


def region_of(node: Node) -> Graph:
    """A single node as a region."""
    inputs = list(dict.fromkeys(node.inputs))
    return Graph(inputs, [], [node], list(node.outputs))


def add_region(unit: Unit, body: Graph, inputs: Sequence[Place], outputs: Sequence[Place]) -> None:
    """A step that computes a region.

    Raises:
        ProgramError: it calls a function that is not in LLVM's language.
    """
    region = flatten(body)
    if any(instr.op == "extern" for instr in region.program.instrs):
        raise ProgramError("it calls a special function of the core")
    overwrites = tuple(_same(output, inputs) for output in outputs)
    shape = outputs[0].shape
    places = [*inputs, *outputs]
    sizes = [SIZE[place.dtype] for place in places]
    strides = [broadcast_strides(shape, place.shape, place.strides, size)
               for place, size in zip(places, sizes, strict=True)]
    grid = make_grid(shape, strides, sizes)
    scalars = RegionCode(region, "").scalar_words(
        [leaf.evaluate({}) if isinstance(leaf, Dim) else leaf for leaf, _ in region.scalars])
    text = kernel_text(region, grid.steps, unit.machine, overwrites, grid.is_short)
    text = text.replace("define void @kernel(", "define internal void @kernel(")
    words = [*scalars, *grid_words(grid)]
    unit.add(f"{text}\n{_entry(len(places), words, grid.total)}", *places)


def _same(output: Place, inputs: Sequence[Place]) -> int:
    """The input that lies in an output's memory, or -1."""
    for k, place in enumerate(inputs):
        if (place.buffer, place.start) == (output.buffer, output.start):
            return k
    return -1


def _entry(operands: int, words: Sequence[int], total: int) -> str:
    """What fills in the words: addresses, then constants."""
    args = ", ".join(f"ptr %a{k}" for k in range(operands))
    lines = [f"  %words = alloca [{operands + len(words)} x i64]"]
    values = [*(("ptr", f"%a{k}") for k in range(operands)), *(("i64", str(w)) for w in words)]
    for k, (kind, value) in enumerate(values):
        lines.append(f"  %w{k} = getelementptr i64, ptr %words, i64 {k}")
        lines.append(f"  store {kind} {value}, ptr %w{k}")
    body = "\n".join([*lines, f"  call void @kernel(ptr %words, i64 0, i64 {total})"])
    return f"define void @entry({args}) #0 {{\n{body}\n  ret void\n}}\n"
