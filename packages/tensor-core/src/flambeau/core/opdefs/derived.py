"""Derivatives of pointwise operators, derived symbolically: pointwise operators again.

The derivative of definition ``exp`` by ``self`` is the definition ``exp__d_self``: it takes
``grad``, the operands and scalars its formula uses, and ``result`` where the derivative contains
the value itself, and gives ``grad`` times the derivative.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flambeau.core.formula import grad_formulas, parse, to_text
from flambeau.core.formula.lower import input_type, lower
from flambeau.core.formula.registry import FormulaError
from flambeau.core.opdefs.opdef import OpDef, Param


def derived_key(key: str, param: str) -> str:
    """Key of the definition that differentiates definition ``key`` by ``param``."""
    return f"{key.replace('.', '__')}__d_{param}"


def derived_opdefs(opdefs: Iterable[OpDef]) -> list[OpDef]:
    """The derivative definitions to be compiled along with ``opdefs``."""
    made = []
    for opdef in opdefs:
        if opdef.category == "pointwise" and opdef.differentiable and opdef.derive:
            made += [d for p in opdef.operands if p.role != "Mask"
                     if (d := derived_opdef(opdef, p.name)) is not None]
    return made


def derived_opdef(opdef: OpDef, param: str) -> OpDef | None:
    """The definition that differentiates ``opdef`` by one operand.

    Args:
        opdef: A pointwise operator with one output.
        param: Name of the operand.

    Returns:
        The definition, or None when no formula of the definition can be differentiated.
    """
    formulas = {}
    for kind in ("float", "complex"):
        text = opdef.formulas.get(kind)
        derived = _derive(opdef, text, param, kind == "complex") if text else None
        if derived is not None:
            formulas[kind] = derived
    if "float" not in formulas:
        return None
    used = _names(formulas.values())
    params = [Param("grad", "Operand")]
    params += [replace(p, default=..., keyword=False) for p in opdef.params if p.name in used]
    if "result" in used:
        params.append(Param("result", "Operand"))
    return OpDef(derived_key(opdef.key, param), "", tuple(params), ("result",), "pointwise",
               rule="promote", formulas=formulas, forms=(), out=False,
               doc=f"``grad`` times the derivative of ``{opdef.key}`` by ``{param}``.",
               domain=opdef.domain)


def _derive(opdef: OpDef, text: str, param: str, is_complex: bool) -> str | None:
    exprs = parse(text, [p.name for p in opdef.operands], [p.name for p in opdef.scalars])
    compute = "c64" if is_complex else "f32"
    kinds = {p.name: input_type("b" if p.role == "Mask" else compute, compute)
             for p in opdef.params}
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
