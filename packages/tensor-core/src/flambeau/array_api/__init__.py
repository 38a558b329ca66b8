"""The Python array API standard, version 2025.12, over Flambeau's tensors.

Arrays are ``flambeau.Tensor``; ``x.__array_namespace__()`` is this module. Most functions are
those of ``flambeau`` under the standard's names and arguments. Others differ where the standard
asks for it: functions of two arrays promote by their dtypes alone, ``axis=()`` reduces nothing.
Operators such as ``x + y`` are Tensor's own and promote as in PyTorch, where an array without
dimensions does not widen another of its kind.
"""
from __future__ import annotations

from flambeau import e, inf, nan, newaxis, pi
from flambeau.array_api import (
    _creation,
    _dtypes,
    _elementwise,
    _movement,
    _products,
    _reductions,
    _searching,
    _sets,
    fft,
    linalg,
)
from flambeau.array_api._info import __array_namespace_info__

__array_api_version__ = "2025.12"

#: The versions that ``x.__array_namespace__(api_version=...)`` gives this module for: each one
#: adds to those before.
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

_FUNCTIONS = {
    name: getattr(part, name)
    for part in (_creation, _dtypes, _elementwise, _movement, _products, _reductions, _searching,
                 _sets)
    for name in part.__all__}
globals().update(_FUNCTIONS)
globals().update(_dtypes.DTYPES)

__all__ = ["__array_api_version__", "__array_namespace_info__", "e", "fft", "inf", "linalg", "nan",
           "newaxis", "pi"]
__all__.extend(_FUNCTIONS)
__all__.extend(_dtypes.DTYPES)


def __dir__() -> list[str]:
    return sorted(__all__)
