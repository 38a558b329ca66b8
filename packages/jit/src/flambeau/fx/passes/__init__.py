"""Passes over graphs; each is imported by the name of its module."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = ("annotate_getitem_nodes", "fake_tensor_prop", "graph_drawer", "graph_manipulation",
            "infra", "operator_support", "param_fetch", "shape_prop", "split_module",
            "split_utils", "tools_common", "utils")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
