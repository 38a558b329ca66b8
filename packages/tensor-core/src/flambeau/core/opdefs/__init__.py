"""Operator definitions: every operator of the core, declared once.

Everything else (entry points, methods, in-place and ``out=`` forms, kernels, stubs, reference
pages, test parameters, backends' work lists) is derived from these definitions.
"""
from __future__ import annotations

from flambeau.core.opdefs.autocast import with_policies
from flambeau.core.opdefs.families import MODULES
from flambeau.core.opdefs.opdef import OpDef, Param
from flambeau.core.opdefs.out_dtypes import with_exact_outs

__all__ = ["OPDEFS", "OpDef", "Param", "by_name"]

OPDEFS: tuple[OpDef, ...] = with_exact_outs(with_policies(
    tuple(opdef for module in MODULES for opdef in module.OPDEFS)))


def by_name(key: str) -> OpDef:
    """The definition with this key (``"add"``, ``"max.dim"``)."""
    for opdef in OPDEFS:
        if opdef.key == key:
            return opdef
    raise KeyError(f"no operator {key!r} is defined")
