"""Short constructors, so that a definition reads as one line of facts."""
from __future__ import annotations

from flambeau.core.opdefs.opdef import OpDef
from flambeau.core.opdefs.schema import parse_schema


def _opdef(schema: str, category: str, **facts) -> OpDef:
    name, overload, params, outputs, is_list = parse_schema(schema)
    return OpDef(name, overload, params, outputs, category, list_output=is_list, **facts)


def pointwise(schema: str, number: str | None = None, **facts) -> OpDef:
    """A definition computed element by element; ``number`` is the formula of every numeric kind.

    ``unsigned`` is the formula of uint64 where it differs from that of other integers.
    """
    kinds = ("float", "int", "bool", "complex", "unsigned")
    formulas = {k: facts.pop(k) for k in kinds if k in facts}
    if number is not None:
        for kind in ("float", "int", "complex"):
            formulas.setdefault(kind, number)
    formulas = {k: v for k, v in formulas.items() if v is not None}
    return _opdef(schema, "pointwise", formulas=formulas, **facts)


def reduction(schema: str, **facts) -> OpDef:
    """A definition that reduces dimensions."""
    facts.setdefault("rule", "custom")
    return _opdef(schema, "reduction", **facts)


def view(schema: str, **facts) -> OpDef:
    """A definition whose result shares memory with its first input."""
    facts.setdefault("rule", "custom")
    return _opdef(schema, "view", out=False, **facts)


def kernel(schema: str, **facts) -> OpDef:
    """A definition with an ``infer`` and a ``run`` of its own."""
    facts.setdefault("rule", "custom")
    return _opdef(schema, "kernel", **facts)


def composite(schema: str, **facts) -> OpDef:
    """A definition written in terms of other operators (``composites/``)."""
    facts.setdefault("rule", "custom")
    facts.setdefault("out", False)
    return _opdef(schema, "composite", **facts)


def helper(schema: str, doc: str = "", **facts) -> OpDef:
    """A kernel that composites and derivative rules call; few have a name in Python."""
    facts.setdefault("out", False)
    facts.setdefault("forms", ())
    return kernel(schema, doc=doc, **facts)
