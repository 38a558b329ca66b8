"""dtypes: the ones that the standard names, casts, questions and limits."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import core
from flambeau.array_api._promotion import common, common_of
from flambeau.core import Tensor

_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]

DTYPES = {name: core.dtypes[name] for name in _KINDS["bool"] + _KINDS["numeric"]}


def names_of(kind: str | tuple[str, ...]) -> list[str]:
    """The names of the dtypes of a kind, or of several."""
    if isinstance(kind, tuple):
        return [name for each in kind for name in names_of(each)]
    if kind not in _KINDS:
        raise ValueError(f"{kind!r} is not a kind of dtypes; kinds are {sorted(_KINDS)}")
    return list(_KINDS[kind])


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is another one, or of a kind such as ``"integral"``."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(dtype.name in names_of(k) if isinstance(k, str) else dtype is k for k in kinds)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The array in another dtype."""
    if x.dtype.is_complex and not dtype.is_complex and dtype.name != "bool":
        raise TypeError(f"astype(): an array of {x.dtype} does not become {dtype}; choose a part "
                        "with real(x), imag(x) or abs(x)")
    return x.to(dtype=dtype, device=device, copy=copy)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that arrays, dtypes and Python numbers promote to."""
    arrays = [core.tensor(0, dtype=x) if isinstance(x, core.dtype) else x
              for x in arrays_and_dtypes]
    if not any(isinstance(x, Tensor) for x in arrays):
        raise ValueError("result_type(): at least one array or dtype is needed")
    return common_of(arrays)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promotion leads from one dtype to the other."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return common([source, to]) is to
    except TypeError:
        return False


def _with_dtype(limits: Any) -> Any:
    limits.dtype = core.dtypes[limits.dtype]
    return limits


def finfo(type: Any, /) -> Any:
    """Limits of a floating-point dtype, or of that of an array."""
    return _with_dtype(core.finfo(type.dtype if isinstance(type, Tensor) else type))


def iinfo(type: Any, /) -> Any:
    """Limits of an integer dtype, or of that of an array."""
    return _with_dtype(core.iinfo(type.dtype if isinstance(type, Tensor) else type))


def default_complex() -> Any:
    """The complex dtype whose parts have the default dtype."""
    double = flambeau.get_default_dtype() is flambeau.float64
    return flambeau.complex128 if double else flambeau.complex64


__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]
