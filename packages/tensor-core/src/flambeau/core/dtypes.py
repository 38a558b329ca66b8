"""dtypes by name, and what their numbers can hold."""
from __future__ import annotations

from flambeau.core import _core

_ALIASES = {"half": "float16", "float": "float32", "double": "float64", "short": "int16",
            "int": "int32", "long": "int64", "cfloat": "complex64", "cdouble": "complex128",
            "chalf": "complex32"}

_by_name = {d.name: d for d in _core.all_dtypes()}

#: Every dtype under its name and under PyTorch's second names.
dtypes = {**_by_name, **{alias: _by_name[name] for alias, name in _ALIASES.items()}}

_FLOATS = {   # bits of the mantissa after the point, least and greatest exponent, greatest mantissa
    "float16": (10, -14, 15), "bfloat16": (7, -126, 127), "float32": (23, -126, 127),
    "float64": (52, -1022, 1023), "float8_e4m3fn": (3, -6, 8, 1.75), "float8_e5m2": (2, -14, 15),
    "float8_e4m3fnuz": (3, -7, 7), "float8_e5m2fnuz": (2, -15, 15),
    "float8_e8m0fnu": (0, -127, 127)}
_EPS = {"float8_e5m2fnuz": 0.125}    # as PyTorch gives it


class _Limits:
    """Limits are equal where the dtype is one: `finfo()` is `finfo(float32)`, say."""

    dtype: str

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash((type(self), self.dtype))


class finfo(_Limits):
    """Limits of a floating dtype.

    Args:
        type: A floating or complex dtype, or Python's type; the default dtype when left out.

    Example:
        >>> import flambeau
        >>> flambeau.finfo(flambeau.float32).eps
        1.1920928955078125e-07
    """

    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    resolution: float

    def __init__(self, type: _core.dtype | type | None = None) -> None:
        type = _core._as_dtype(type) if type else _core.get_default_dtype()
        name = type.to_real().name
        if name not in _FLOATS:
            raise TypeError(f"finfo() requires a floating dtype, got {type}; use iinfo()")
        digits, low, high, *mantissa = _FLOATS[name]
        self.dtype = name
        self.bits = 8 * type.to_real().itemsize
        self.eps = _EPS.get(name, 2.0 ** -digits)
        self.max = (mantissa[0] if mantissa else 2.0 - 2.0 ** -digits) * 2.0 ** high
        self.min = -self.max if type.is_signed else 2.0 ** low
        self.tiny = self.smallest_normal = 2.0 ** low
        self.resolution = 10.0 ** -int(digits * 0.30103)

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
                f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
                f"dtype={self.dtype})")


class iinfo(_Limits):
    """Limits of an integer dtype.

    Args:
        type: An integer dtype, or ``int``.

    Example:
        >>> import flambeau
        >>> flambeau.iinfo(flambeau.int8).max
        127
    """

    bits: int
    max: int
    min: int

    def __init__(self, type: _core.dtype | type) -> None:
        stored = _core.quantized_storage(type) if isinstance(type, _core.dtype) else None
        shown = type.name if isinstance(type, _core.dtype) else ""
        type = _core._as_dtype(type if stored is None else stored)
        if type.is_floating_point or type.is_complex or type.name == "bool":
            raise TypeError(f"iinfo() requires an integer dtype, got {type}; use finfo()")
        self.dtype = type.name if stored is None else shown
        self.bits = 8 * type.itemsize
        signed = type.is_signed
        self.min = -(1 << self.bits - 1) if signed else 0
        self.max = (1 << self.bits - signed) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
