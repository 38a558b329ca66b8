"""Which elements of a tensor take part in a call, and what stands for the others."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.core import _core, functions, layouts
from flambeau.core.dtypes import iinfo
from flambeau.masked._sparse import dense, reduced_sparse
from flambeau.masked._tensor import MaskedTensor, as_masked_tensor

#: Operators and other functions by name.
OPERATORS = {**functions, **_core.operators()}
Dims = int | Sequence[int] | None


def masked_parts(input: Any, mask: Any) -> tuple[Any, Any]:
    """The elements, and which take part, of the elements' shape."""
    own = input.get_mask() if isinstance(input, MaskedTensor) else None
    data = input.get_data() if isinstance(input, MaskedTensor) else input
    if mask is not None and mask.dtype is not _core._dtype_named("bool"):
        raise TypeError(f"mask has dtype {mask.dtype}; it is of bool, e.g. x != 0")
    if mask is not None:
        mask = dense(mask)
        mask = mask.expand(data.shape) if tuple(mask.shape) != tuple(data.shape) else mask
    both = mask if own is None else own if mask is None else own & mask
    return data, both


def filled(data: Any, mask: Any, value: Any) -> Any:
    """The data, with a value where the mask does not hold."""
    return data if mask is None else OPERATORS["where"](mask, data, value)


def least(dtype: Any) -> Any:
    """The least number of a dtype."""
    return -math.inf if dtype.is_floating_point else \
        False if dtype.name == "bool" else iinfo(dtype).min


def greatest(dtype: Any) -> Any:
    """The greatest number of a dtype."""
    return math.inf if dtype.is_floating_point else \
        True if dtype.name == "bool" else iinfo(dtype).max


def reduced_dims(data: Any, dim: Dims) -> tuple[int, ...]:
    """The dimensions to reduce as a tuple."""
    if dim is None:
        return tuple(range(data.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def reduced(input: Any, mask: Any, dim: Dims, keepdim: bool,
            compute: Callable[[Any, Any, tuple[int, ...]], Any]) -> Any:
    """What ``compute(data, mask, dims)`` gives; for a masked tensor with the mask of the result."""
    data, wanted = masked_parts(input, mask)
    dims = reduced_dims(data, dim)
    if data.layout is not layouts.strided:
        return reduced_sparse(data, wanted, dims, keepdim, compute)
    result = compute(data, wanted, dims)
    if not isinstance(input, MaskedTensor):
        return result
    left = OPERATORS["any"](wanted, dims, keepdim=keepdim) if dims else wanted
    return as_masked_tensor(result, left)


def cast(data: Any, dtype: Any) -> Any:
    """The data in a dtype; as it is for None."""
    return data if dtype is None else data.to(dtype)


def floating(x: Any, dtype: Any) -> Any:
    """The data in a dtype, by default one that has fractions."""
    if dtype is not None:
        return x.to(dtype)
    return x if x.is_floating_point() or x.is_complex() else x.to(_core.get_default_dtype())
