"""Which definitions compute complex64 in double precision.

Exponentials, roots and the like of complex numbers are differences and products of several real
functions. In double precision what they lose by cancellation does not reach a complex64 result,
nor do intermediate results leave the range; and there is one kernel instead of two.
"""
from __future__ import annotations

import ast
from functools import cache

from flambeau.core.opdefs.opdef import OpDef

#: Functions a complex64 kernel computes as they are.
_PLAIN = frozenset("real imag conj complex abs hypot square reciprocal isnan isinf isfinite "
                   "bool".split())


def in_double(opdef: OpDef) -> bool:
    """Whether complex64 operands of a pointwise operator are computed as complex128."""
    text = opdef.formulas.get("complex")
    return text is not None and _has_functions(text)


@cache
def _has_functions(text: str) -> bool:
    calls = {node.func.id for node in ast.walk(ast.parse(text, mode="eval"))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return not calls <= _PLAIN
