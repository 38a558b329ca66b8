"""Operators in terms of others, for devices whose backend has no kernel for them.

A function has the operator's name (``name__overload``) and takes its parameters in order. It runs
on the device, with the operators that the backend has; what it returns is converted to the dtype
of the results. Definitions name what is here by ``decomposes=True``; a file holds a family's. They
end in arithmetic, reductions, ``matmul``, ``where``, ``cumsum``, ``sort``, ``gather``,
``scatter_add``, ``index``, ``index_put`` and copies, which carry them all.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

_FAMILIES = ("matmul", "reduce", "shape", "index", "norm", "conv", "pool", "attention",
             "recurrent", "loss", "sort", "statistics", "pointwise", "random")

@cache
def _functions() -> dict[str, Callable[..., Any]]:
    modules = [import_module(f"{__name__}.{family}") for family in _FAMILIES]
    return {name: function for module in modules for name, function in vars(module).items()
            if getattr(function, "__module__", "") == module.__name__ and name[0] != "_"}


def decomposition(key: str) -> Callable[..., Any] | None:
    """The function for an operator, or None.

    Args:
        key: the operator, ``name`` or ``name.overload``.

    Example:
        >>> decomposition("log_softmax").__name__
        'log_softmax'
        >>> decomposition("linalg_svd") is None
        True
    """
    return _functions().get(key.replace(".", "__"))
