"""The standard's promotion: dtypes count, and whether an array has dimensions does not."""
from __future__ import annotations

from functools import reduce
from typing import Any

from flambeau.core import Tensor, promote_types, tensor
from flambeau.core import result_type as torch_like_result_type


def _promote(one: Any, other: Any) -> Any:
    for dtype, partner in ((one, other), (other, one)):
        if dtype.name == "uint64" and partner.name.startswith("int"):
            raise TypeError(f"no integer dtype holds both {one} and {other}, and the standard has "
                            "no promotion for them; cast one of the arrays with astype()")
    return promote_types(one, other)


def common(dtypes: list[Any]) -> Any:
    """The dtype that all of them promote to."""
    return reduce(_promote, dtypes)


def common_of(arrays: list[Any]) -> Any:
    """The dtype that arrays and Python numbers promote to.

    Numbers widen the arrays' dtype only when they are of a higher kind: 2.5 beside integers.
    """
    dtype = common([x.dtype for x in arrays if isinstance(x, Tensor)])
    for number in arrays:
        if not isinstance(number, Tensor):
            dtype = torch_like_result_type(tensor(0, dtype=dtype), number)
    return dtype


def together(*arrays: Any) -> tuple[Any, ...]:
    """Arrays in their common dtype; Python numbers stay what they are."""
    first = arrays[0]
    if all(isinstance(x, Tensor) and x.dtype is first.dtype for x in arrays):
        return arrays
    if not any(isinstance(x, Tensor) for x in arrays):
        raise TypeError(f"at least one array is needed, got {arrays!r}; wrap a number in asarray()")
    dtype = common_of(list(arrays))
    return tuple(x.to(dtype) if isinstance(x, Tensor) else x for x in arrays)


def as_arrays(*arrays: Any) -> tuple[Any, ...]:
    """Arrays in their common dtype, Python numbers too."""
    made = together(*arrays)
    like = next(x for x in made if isinstance(x, Tensor))
    return tuple(x if isinstance(x, Tensor) else tensor(x, dtype=like.dtype, device=like.device)
                 for x in made)
