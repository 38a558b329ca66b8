"""The definitions under test, as the tests see them."""

from __future__ import annotations

from flambeau.core import ops
from flambeau.core.opdefs import OPDEFS

POINTWISE = [opdef for opdef in OPDEFS if opdef.category == "pointwise"]
FUNCTION, METHOD, NN = "function", "method", "nn"


def operands(opdef) -> int:
    """How many tensors a pointwise operator takes."""
    return len(opdef.operands)


def supports(opdef, kind: str) -> bool:
    """Whether the definition says it is defined for a kind of number.

    Integers reach the floating formula of definitions whose result is floating in any case.
    """
    if kind == "bool" and opdef.refuses_bools:
        return False
    if kind in opdef.formulas:
        return True
    if opdef.call == "quotient_sum":    # integers divide in two ways, and which is meant is unsaid
        return False
    if kind == "bool" and opdef.rule == "integer":
        return True
    return kind in ("int", "bool") and opdef.rule == "float" and "float" in opdef.formulas


def operator(opdef):
    """The definition as a function."""
    return getattr(ops, opdef.name)
