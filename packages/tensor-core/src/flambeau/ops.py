"""Operators under PyTorch's names: ``ops.aten.add.Tensor``, and those of ``flambeau.library``.

Example:
    >>> import flambeau
    >>> flambeau.ops.aten.add.Tensor(flambeau.ones(1), 2)
    tensor([3.])
"""
from __future__ import annotations

import sys
from typing import Any

import flambeau.library  # noqa: F401, whole before its modules: Note [first uses]
from flambeau.library.operators import Namespace, OpOverload, OpOverloadPacket
from flambeau.library.operators import ops as _namespaces

__all__ = ["OpOverload", "OpOverloadPacket"]


def __getattr__(name: str) -> Namespace:
    if name.startswith("__"):
        raise AttributeError(name)
    found: Namespace | None = None
    if _is_alias():
        from flambeau.as_torch.stands.compiled import namespaces

        found = namespaces.namespace(name)
    found = getattr(_namespaces, name) if found is None else found
    globals()[name] = found     # whoever deletes a namespace finds it here
    return found


def _is_alias() -> bool:
    return "flambeau.as_torch.programs" in sys.modules


def load_library(path: Any) -> None:
    """Refuse: libraries of PyTorch's C++ operators do not fit here.

    Under the alias `torch`, the operators of a few libraries are registered in Flambeau's making.
    """
    if _is_alias():
        from flambeau.as_torch.stands import operators

        return operators.load_library(path)
    raise NotImplementedError(
        f"load_library({str(path)!r}): operators compiled for PyTorch cannot be loaded; register "
        "them with flambeau.library.custom_op, or compile against the header in "
        "flambeau.core.get_include()")
