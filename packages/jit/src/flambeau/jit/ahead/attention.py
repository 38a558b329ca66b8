"""Attention: for each head its scores, their softmax, and the values times it.

The steps are those of the core's kernels over one block of keys, so sums have the same order.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.jit.ahead.rows import RowOperand, Rows, rows_of
from flambeau.jit.llvm.machine import Machine
from flambeau.jit.rowcode.formulas import Maker

#: Keys that the core takes as one block.
MOST_KEYS = 512
#: Queries whose scores are sums along vectors.
FEW_QUERIES = 4


def soften(
    rows: int, keys: int, scale: float, mask: RowOperand | None, machine: Machine
) -> Rows:
    """The function that turns scores into powers: scores, mask, powers, one over their sum.

    Args:
        rows: how many.
        keys: scores of a row.
        scale: what scores are multiplied with.
        mask: bools, which keys to leave out, or what is added to scores; ``None``: neither.
        machine: what the code is made for.
    """
    row, one = RowOperand("float32", keys, True), RowOperand("float32", 1, False)
    inputs = [row] if mask is None else [row, mask]
    return rows_of(rows, keys, inputs, [row, one], _formula(scale, mask), machine)


def _formula(scale: float, mask: RowOperand | None) -> Callable[[Maker, list[int]], list[int]]:
    def formula(make: Maker, given: list[int]) -> list[int]:
        low, zero, by = make.const(float("-inf")), make.const(0.0), make.const(scale)
        scores = given[0]
        if mask is None and scale > 0:
            top = make("mul", make.reduce("largest", scores), by)
            scores = make("mul", scores, by)
        else:
            scores = make("mul", scores, by)
            if mask is not None and mask.dtype == "bool":
                scores = make("select", given[1], scores, low, kind="f32")
            elif mask is not None:
                scores = make("add", scores, given[1])
            top = make.reduce("largest", scores)
        nothing = make("eq", top, low, kind="b")
        powers = make.weight(make("sub", scores, make("select", nothing, zero, top, kind="f32")))
        total = make.reduce("sum_of_powers", powers)
        inverse = make("div", make.const(1.0), total)
        return [powers, make("select", make("eq", total, zero, kind="b"), zero, inverse,
                             kind="f32")]

    return formula
