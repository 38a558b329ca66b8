"""Operator definitions: every operator of the core, declared once.

Everything else (entry points, methods, in-place and ``out=`` forms, kernels, stubs, reference
pages, test parameters, backends' work lists) is derived from these definitions.
"""
from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from flambeau.core.opdefs.families import SOUGHT, modules
from flambeau.core.opdefs.opdef import OpDef, Param

__all__ = ["OPDEFS", "OpDef", "Param", "by_name"]

if TYPE_CHECKING:
    OPDEFS: tuple[OpDef, ...]


def __getattr__(name: str) -> tuple[OpDef, ...]:
    """All definitions, when somebody asks for all."""
    if name != "OPDEFS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()["OPDEFS"] = tuple(o for module in modules() for o in module.OPDEFS)
    return found


@cache
def by_name(key: str) -> OpDef:
    """The definition with this key (``"add"``, ``"max.dim"``).

    Families are imported one by one until it is found.
    """
    for module in modules(SOUGHT):
        for opdef in module.OPDEFS:
            if opdef.key == key:
                return opdef
    raise KeyError(f"no operator {key!r} is defined")
