"""Passes that may still change; each is imported by the name of its module."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = ("const_fold", "merge_matmul", "meta_tracer", "normalize", "optimization",
            "proxy_tensor", "rewriter", "schema_type_annotation")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
