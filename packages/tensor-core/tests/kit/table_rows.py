"""The rows under test, as the tests see them."""

from __future__ import annotations

from flambeau.core import ops
from flambeau.core.opdefs import OPDEFS

POINTWISE = [row for row in OPDEFS if row.category == "pointwise"]
FUNCTION, METHOD, NN = "function", "method", "nn"


def operands(row) -> int:
    """How many tensors a pointwise row takes."""
    return len(row.operands)


def supports(row, kind: str) -> bool:
    """Whether the row says it is defined for a kind of number.

    Integers reach the floating formula of rows whose result is floating in any case.
    """
    if kind in row.formulas:
        return True
    if row.call == "quotient_sum":    # integers divide in two ways, and which is meant is unsaid
        return False
    if kind == "bool" and row.rule == "integer":
        return True
    return kind in ("int", "bool") and row.rule == "float" and "float" in row.formulas


def operator(row):
    """The row as a function."""
    return getattr(ops, row.name)
