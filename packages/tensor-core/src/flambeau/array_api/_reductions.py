"""Statistics and other functions along axes.

PyTorch reduces everything for an empty tuple of axes, the standard nothing: see ``_axes``.
"""
from __future__ import annotations

from typing import Any

import flambeau


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    """The axes to reduce: all for None, and none for an empty tuple."""
    if axis is None:
        return tuple(range(x.ndim))
    return (axis,) if isinstance(axis, int) else tuple(axis)


def _reduce(operator: Any, x: Any, axis: Any, keepdims: bool, **options: Any) -> Any:
    """Reduce along axes, or along one of size 1 put in front where there are none."""
    axes = _axes(x, axis)
    if axes:
        return operator(x, axes, keepdim=keepdims, **options)
    return operator(x.unsqueeze(0), (0,), keepdim=False, **options)


def _sum_dtype(x: Any, dtype: Any) -> Any:
    """The dtype that sums are made in: integers count in 64 bits."""
    if dtype is not None or x.is_floating_point() or x.is_complex():
        return dtype or x.dtype
    return flambeau.uint64 if x.dtype.name.startswith("uint") else flambeau.int64


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum of elements."""
    return _reduce(flambeau.sum, x, axis, keepdims, dtype=_sum_dtype(x, dtype))


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product of elements."""
    return _reduce(flambeau.prod, x, axis, keepdims, dtype=_sum_dtype(x, dtype))


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The arithmetic mean of elements."""
    return _reduce(flambeau.mean, x, axis, keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance of elements."""
    return _reduce(flambeau.var, x, axis, keepdims, correction=correction)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation of elements."""
    return _reduce(flambeau.std, x, axis, keepdims, correction=correction)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest element; NaN where there is one."""
    return _reduce(flambeau.amax, x, axis, keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The least element; NaN where there is one."""
    return _reduce(flambeau.amin, x, axis, keepdims)


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements are true."""
    return _reduce(flambeau.all, x.bool(), axis, keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether an element is true."""
    return _reduce(flambeau.any, x.bool(), axis, keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements are not zero."""
    return _reduce(flambeau.sum, x.bool(), axis, keepdims)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None,
                   include_initial: bool = False) -> Any:
    """Running sums, with a 0 in front where ``include_initial``."""
    return _running(flambeau.cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None,
                    include_initial: bool = False) -> Any:
    """Running products, with a 1 in front where ``include_initial``."""
    return _running(flambeau.cumprod, x, axis, dtype, 1 if include_initial else None)


def _running(scan: Any, x: Any, axis: int | None, dtype: Any, first: int | None) -> Any:
    if axis is None and x.ndim != 1:
        raise ValueError(f"an array of {x.ndim} dimensions has to be given an axis to run along")
    at = 0 if axis is None else axis
    made = scan(x, at, dtype=_sum_dtype(x, dtype))
    if first is None:
        return made
    sizes = list(x.shape)
    sizes[at] = 1
    return flambeau.cat([made.new_full(sizes, first), made], at)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None,
         append: Any = None) -> Any:
    """Differences of neighbours, ``n`` times."""
    return flambeau.diff(x, n, axis, prepend, append)


__all__ = ["all", "any", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max",
           "mean", "min", "prod", "std", "sum", "var"]
