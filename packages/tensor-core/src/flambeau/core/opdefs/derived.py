"""Derivatives of pointwise rows, derived symbolically: pointwise rows again.

The derivative of row ``exp`` by ``self`` is the row ``exp__d_self``: it takes ``grad``, the
operands and scalars its formula uses, and ``result`` where the derivative contains the value
itself, and gives ``grad`` times the derivative.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flambeau.core.formula import grad_formulas, parse, to_text
from flambeau.core.formula.lower import input_type, lower
from flambeau.core.formula.registry import FormulaError
from flambeau.core.opdefs.opdef import OpDef, Param


def derived_key(key: str, param: str) -> str:
    """Key of the row that differentiates row ``key`` by ``param``."""
    return f"{key.replace('.', '__')}__d_{param}"


def derived_rows(rows: Iterable[OpDef]) -> list[OpDef]:
    """The derivative rows to be compiled along with ``rows``."""
    made = []
    for row in rows:
        if row.category == "pointwise" and row.differentiable and row.derive:
            made += [d for p in row.operands if p.role != "Mask"
                     if (d := derived_row(row, p.name)) is not None]
    return made


def derived_row(row: OpDef, param: str) -> OpDef | None:
    """The row that differentiates ``row`` by one operand.

    Args:
        row: A pointwise row with one output.
        param: Name of the operand.

    Returns:
        The row, or None when no formula of the row can be differentiated.
    """
    formulas = {}
    for kind in ("float", "complex"):
        text = row.formulas.get(kind)
        derived = _derive(row, text, param, kind == "complex") if text else None
        if derived is not None:
            formulas[kind] = derived
    if "float" not in formulas:
        return None
    used = _names(formulas.values())
    params = [Param("grad", "Operand")]
    params += [replace(p, default=..., keyword=False) for p in row.params if p.name in used]
    if "result" in used:
        params.append(Param("result", "Operand"))
    return OpDef(derived_key(row.key, param), "", tuple(params), ("result",), "pointwise",
               rule="promote", formulas=formulas, forms=(), out=False,
               doc=f"``grad`` times the derivative of ``{row.key}`` by ``{param}``.",
               domain=row.domain)


def _derive(row: OpDef, text: str, param: str, is_complex: bool) -> str | None:
    exprs = parse(text, [p.name for p in row.operands], [p.name for p in row.scalars])
    compute = "c64" if is_complex else "f32"
    kinds = {p.name: input_type("b" if p.role == "Mask" else compute, compute)
             for p in row.params}
    try:
        expr = grad_formulas(exprs, [param], is_complex)[param]
        if expr is not None:
            lower([expr], compute, kinds | {"grad": compute, "result": compute})
    except FormulaError:
        return None
    return None if expr is None else to_text(expr)


def _names(texts: Iterable[str]) -> set[str]:
    import ast

    return {node.id for text in texts for node in ast.walk(ast.parse(text, mode="eval"))
            if isinstance(node, ast.Name)}
