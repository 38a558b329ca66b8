"""Operator definitions: every operator of the core, declared once.

Everything else (entry points, methods, in-place and ``out=`` forms, kernels, stubs, reference
pages, test parameters, backends' work lists) is derived from these definitions.
"""
from __future__ import annotations

from flambeau.core.opdefs.families import MODULES
from flambeau.core.opdefs.opdef import OpDef, Param

__all__ = ["OPDEFS", "OpDef", "Param", "by_name"]

OPDEFS: tuple[OpDef, ...] = tuple(opdef for module in MODULES for opdef in module.OPDEFS)


def by_name(key: str) -> OpDef:
    """The definition with this key (``"add"``, ``"max.dim"``)."""
    for opdef in OPDEFS:
        if opdef.key == key:
            return opdef
    raise KeyError(f"no operator {key!r} is defined")
