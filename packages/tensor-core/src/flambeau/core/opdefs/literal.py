"""Pointwise operators at numbers where the formula is a shorter one.

``x ** 2`` is a product and ``x ** 0.5`` a root. The definition of ``pow`` says at which numbers its
formula is lowered with the number in it (``literals``); what becomes of it is the formula
language's affair. Each such number gives a definition without that operand, ``pow__at_0_5``, whose
kernels every backend has beside those of ``pow``, and so all compute the same bits.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from flambeau.core.opdefs.opdef import OpDef

_INEXACT = ("float", "complex")
#: Of integers these powers are products; others are as short as the formula.
_INTEGRAL = (2.0, 3.0)


def literal_opdefs(opdefs: Iterable[OpDef]) -> list[OpDef]:
    """The definitions at literal numbers that are compiled along with ``opdefs``."""
    return [literal_opdef(opdef, name, value) for opdef in opdefs
            for name, values in opdef.literals.items() for value in values]


def literal_opdef(opdef: OpDef, name: str, value: float) -> OpDef:
    """The definition with a number instead of one operand: for floating and complex kinds, and
    for integers where the formula becomes shorter."""
    kinds = (*_INEXACT, "int") if value in _INTEGRAL else _INEXACT
    formulas = {kind: re.sub(rf"\b{name}\b", f"({int(value) if kind == 'int' else value!r})", text)
                for kind, text in opdef.formulas.items() if kind in kinds}
    suffix = f"{value:g}".replace("-", "minus_").replace(".", "_")
    return OpDef(f"{opdef.symbol}__at_{suffix}", "",
                 tuple(p for p in opdef.params if p.name != name), opdef.outputs, "pointwise",
                 rule=opdef.rule, formulas=formulas, forms=(), out=False, differentiable=False,
                 domain=opdef.domain, doc=f"``{opdef.key}`` where ``{name}`` is {value:g}.")


def at_literal(opdef: OpDef, args: Sequence[Any]) -> tuple[OpDef, list[Any]]:
    """The definition that computes a call in floating or complex numbers, and its arguments.

    Args:
        opdef: A pointwise definition.
        args: One argument per parameter; numbers are Python's.

    Returns:
        Both as they were, unless an argument is one of the numbers in ``opdef.literals``.
    """
    for name, values in opdef.literals.items():
        index = [p.name for p in opdef.params].index(name)
        if isinstance(args[index], int | float | complex) and args[index] in values:
            made = _made(opdef.key, name, float(complex(args[index]).real))
            return made, [arg for i, arg in enumerate(args) if i != index]
    return opdef, list(args)


@cache
def _made(key: str, name: str, value: float) -> OpDef:
    from flambeau.core.opdefs import by_name

    return literal_opdef(by_name(key), name, value)
