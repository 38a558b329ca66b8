"""Reductions over dimensions that others lie inside, and of short rows: element by element."""

from __future__ import annotations

from flambeau.jit.ahead.loops import Loops
from flambeau.jit.llvm import vectors
from flambeau.jit.llvm.emitter import constant_float
from flambeau.jit.llvm.machine import Machine
from flambeau.jit.rowcode.orders import NEUTRAL

#: Rows that are added as a tree before they meet the sum.
ROWS = 8
OPS = {"sum": "sum", "mean": "sum", "amax": "max", "amin": "min"}


def columns_text(op: str, sizes: tuple[int, int, int], machine: Machine) -> str:
    """The function: an operand of three dimensions, the reduction over the one in the middle."""
    out, (outer, count, inner) = Loops(machine, 2), sizes
    kind = OPS[op]
    with out.loop(outer) as n, out.loop(inner) as j:
        total = out.variable("float")
        out.store(constant_float(NEUTRAL[kind]), total)
        source = out.at("%a0", out.offset((n, count * inner), (j, 1)))
        trees = count // ROWS if inner > 1 else 0
        if trees:
            with out.loop(trees) as tree:
                values = [_load(out, source, tree, k, inner) for k in range(ROWS)]
                while len(values) > 1:
                    values = [vectors.combine(out, kind, "f32", a, b)
                              for a, b in zip(values[::2], values[1::2], strict=True)]
                _take(out, kind, total, values[0])
        if rest := count - trees * ROWS:
            with out.loop(rest) as k:
                at = out.offset((k, inner), start=trees * ROWS * inner)
                _take(out, kind, total, out.load(out.at(source, at)))
        value = out.load(total)
        if op == "mean":
            value = out.add(f"fdiv float {value}, {constant_float(float(count))}")
        out.store(value, out.at("%a1", out.offset((n, inner), (j, 1))))
    return out.text()


def _load(out: Loops, source: str, tree: str, k: int, inner: int) -> str:
    return out.load(out.at(source, out.offset((tree, ROWS * inner), start=k * inner)))


def _take(out: Loops, kind: str, total: str, value: str) -> None:
    out.store(vectors.combine(out, kind, "f32", out.load(total), value), total)
