"""The greatest element of each window."""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.jit.ahead.loops import Loops
from flambeau.jit.llvm.emitter import constant_float
from flambeau.jit.llvm.machine import Machine


@dataclass(frozen=True)
class Pool:
    """Sizes: planes, of what height and width, and of the windows likewise."""

    planes: int
    image: tuple[int, int]
    result: tuple[int, int]
    window: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]


def pool_text(p: Pool, machine: Machine) -> str:
    """The function: planes, results. Elements in the padding, and beyond, are left out."""
    out = Loops(machine, 2)
    plane, size = p.image[0] * p.image[1], p.result[0] * p.result[1]
    with out.loop(p.planes) as n, out.loop(p.result[0]) as y, out.loop(p.result[1]) as x:
        best = constant_float(float("-inf"))
        for ky in range(p.window[0]):
            for kx in range(p.window[1]):
                best = _with(out, p, best, n, (y, x), (ky, kx), plane)
        out.store(best, out.at("%a1", out.offset((n, size), (y, p.result[1]), (x, 1))))
    return out.text()


def _with(out: Loops, p: Pool, best: str, n: str, at: tuple[str, str], tap: tuple[int, int],
          plane: int) -> str:
    """The greater of what there is and one tap; NaN is greater than all."""
    places, tests = [], []
    for d in range(2):
        shift = tap[d] * p.dilation[d] - p.padding[d]
        where = out.offset((at[d], p.stride[d]), start=shift)
        last = (p.result[d] - 1) * p.stride[d] + shift
        if shift < 0 or last >= p.image[d]:
            inside = out.add(f"icmp ult i64 {where}, {p.image[d]}")
            where = out.add(f"select i1 {inside}, i64 {where}, i64 0")
            tests.append(inside)
        places.append(where)
    value = out.load(out.at("%a0", out.offset((n, plane), (places[0], p.image[1]),
                                              (places[1], 1))))
    greater = out.add(f"fcmp ogt float {value}, {best}")
    nan = out.add(f"fcmp uno float {value}, {value}")
    takes = out.add(f"or i1 {greater}, {nan}")
    for test in tests:
        takes = out.add(f"and i1 {takes}, {test}")
    return out.add(f"select i1 {takes}, float {value}, float {best}")
