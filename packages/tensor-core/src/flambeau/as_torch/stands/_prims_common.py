"""Questions about dtypes and shapes: `torch._prims_common`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau.core import Tensor

Number = (bool, int, float, complex)
NumberType = bool | int | float | complex
TensorLike = Tensor
TensorLikeType = Tensor
ShapeType = Sequence[int]
StrideType = Sequence[int]
DimsType = int | Sequence[int]
DeviceLikeType = str | flambeau.device | int

_REAL = {flambeau.complex64: flambeau.float32, flambeau.complex128: flambeau.float64}
_COMPLEX = {flambeau.float32: flambeau.complex64, flambeau.float64: flambeau.complex128,
            flambeau.bfloat16: flambeau.complex64, flambeau.float16: flambeau.complex64}


def is_boolean_dtype(dtype: Any) -> bool:
    """Whether a dtype is bool."""
    return bool(dtype == flambeau.bool)


def is_float_dtype(dtype: Any) -> bool:
    """Whether a dtype is of floating point numbers."""
    return bool(dtype.is_floating_point)


def is_complex_dtype(dtype: Any) -> bool:
    """Whether a dtype is of complex numbers."""
    return bool(dtype.is_complex)


def is_integer_dtype(dtype: Any) -> bool:
    """Whether a dtype is of integers, bool excepted."""
    return not (dtype.is_floating_point or dtype.is_complex or is_boolean_dtype(dtype))


def is_low_precision_dtype(dtype: Any) -> bool:
    """Whether a dtype is of floating point numbers of 16 bits."""
    return dtype in (flambeau.float16, flambeau.bfloat16)


def corresponding_real_dtype(dtype: Any) -> Any:
    """The dtype of a complex dtype's parts."""
    return _REAL[dtype]


def corresponding_complex_dtype(dtype: Any) -> Any:
    """The complex dtype whose parts have a dtype."""
    return _COMPLEX[dtype]


def dtype_to_type(dtype: Any) -> type:
    """Python's type for elements of a dtype."""
    if is_boolean_dtype(dtype):
        return bool
    if is_integer_dtype(dtype):
        return int
    return complex if dtype.is_complex else float


def type_to_dtype(typ: type) -> Any:
    """The dtype of tensors that numbers of a type of Python's make."""
    return flambeau.tensor(typ(0)).dtype


def get_computation_dtype(dtype: Any) -> Any:
    """The dtype that elements of 16 bits are computed in, float32; any other as it is."""
    return flambeau.float32 if is_low_precision_dtype(dtype) else dtype


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension counted from the first.

    Raises:
        IndexError: There is no such dimension.
    """
    size = rank or (1 if wrap_scalar else 0)
    if not -size <= idx < size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, "
                         f"{size - 1}], but got {idx})")
    return idx % size


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """Dimensions counted from the first: one, or a tuple of several."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, each, wrap_scalar) for each in indices)


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """The strides of a contiguous tensor; of one whose last two are columns first, otherwise."""
    if not row_major and len(shape) > 1:
        swapped = make_contiguous_strides_for([*shape[:-2], shape[-1], shape[-2]])
        return (*swapped[:-2], swapped[-1], swapped[-2])
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(int(size), 1)
    return tuple(reversed(strides))


def is_contiguous(a: Tensor) -> bool:
    """Whether a tensor's elements lie in the order of its dimensions."""
    return a.is_contiguous()


is_contiguous_or_false = is_contiguous


def alert_not_deterministic(caller: str) -> None:
    """Do nothing: results are the same in every run here."""


def dtype_or_default(dtype: Any) -> Any:
    """A dtype, else the default one."""
    return flambeau.get_default_dtype() if dtype is None else dtype


def device_or_default(device: Any) -> Any:
    """A device, else the default one."""
    return flambeau.get_default_device() if device is None else flambeau.device(device)


def suggest_memory_format(x: Any) -> Any:
    """The order of dimensions in memory that a tensor has, channels last where it could be both."""
    last = {4: flambeau.channels_last, 5: flambeau.channels_last_3d}.get(x.dim())
    if last is not None and x.is_contiguous(memory_format=last) and not x.is_contiguous():
        return last
    return flambeau.contiguous_format
