"""Rows of a table by index."""

from __future__ import annotations

from flambeau.jit.ahead.loops import Loops
from flambeau.jit.llvm.machine import Machine


def lookup_text(count: int, table: tuple[int, int], bits: int, machine: Machine) -> str:
    """The function: table, indices, result, status.

    An index that is none of the table makes the status 1, and gives row 0.

    Args:
        count: how many indices.
        table: rows, and elements of a row.
        bits: of an index.
        machine: what the code is made for.
    """
    out = Loops(machine, 4)
    rows, width = table
    with out.loop(count) as n:
        index = out.load(out.at("%a1", n, f"i{bits}"), f"i{bits}", bits // 8)
        if bits < 64:
            index = out.add(f"sext i{bits} {index} to i64")
        outside = out.add(f"icmp uge i64 {index}, {rows}")
        before = out.load("%a3", "i32")
        after = out.add(f"or i32 {before}, {out.add(f'zext i1 {outside} to i32')}")
        out.store(after, "%a3", "i32")
        row = out.add(f"select i1 {outside}, i64 0, i64 {index}")
        source, to = (out.at("%a0", out.offset((row, width))),
                      out.at("%a2", out.offset((n, width))))
        with out.loop(width) as k:
            out.store(out.load(out.at(source, k)), out.at(to, k))
    return out.text()
