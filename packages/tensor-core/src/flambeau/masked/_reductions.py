"""Reductions over the elements that a mask leaves."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flambeau.core import _core
from flambeau.core.dims import wrapped_dims
from flambeau.masked._selection import (
    OPERATORS,
    Dims,
    cast,
    filled,
    floating,
    greatest,
    least,
    reduced,
)


def sum(input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None,
        mask: Any = None) -> Any:
    """The sum of the elements where the mask holds; 0 for none.

    Args:
        input: A tensor, or a masked one.
        dim: Dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``; of a masked tensor, both masks must hold.

    Returns:
        A tensor; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> flambeau.masked.sum(x, 1, mask=x != 2)
        tensor([1., 7.])
    """
    return reduced(input, mask, dim, keepdim, lambda x, m, dims: OPERATORS["sum"](
        filled(x, m, 0), dims, keepdim=keepdim, dtype=dtype))


def prod(input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None,
         mask: Any = None) -> Any:
    """The product of the elements where the mask holds; 1 for none.

    Args:
        input: A tensor, or a masked one.
        dim: Dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([2.0, 3.0, 4.0])
        >>> flambeau.masked.prod(x, mask=x != 3)
        tensor(8.)
    """
    def compute(x: Any, m: Any, dims: tuple[int, ...]) -> Any:
        result = cast(filled(x, m, 1), dtype)
        for d in sorted(wrapped_dims("prod", dims, x.ndim), reverse=True):
            result = OPERATORS["prod"](result, d, keepdim=keepdim)
        return result

    return reduced(input, mask, dim, keepdim, compute)


def amax(input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None,
         mask: Any = None) -> Any:
    """The greatest element where the mask holds; the least number of the dtype for none.

    Args:
        input: A tensor, or a masked one.
        dim: Dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([2.0, 9.0, 4.0])
        >>> flambeau.masked.amax(x, mask=x < 5)
        tensor(4.)
    """
    return reduced(input, mask, dim, keepdim, lambda x, m, dims: cast(OPERATORS["amax"](
        filled(x, m, least(x.dtype)), dims, keepdim=keepdim), dtype))


def amin(input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None,
         mask: Any = None) -> Any:
    """The least element where the mask holds; the greatest number of the dtype for none.

    Args:
        input: A tensor, or a masked one.
        dim: Dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([2.0, 9.0, 4.0])
        >>> flambeau.masked.amin(x, mask=x > 3)
        tensor(4.)
    """
    return reduced(input, mask, dim, keepdim, lambda x, m, dims: cast(OPERATORS["amin"](
        filled(x, m, greatest(x.dtype)), dims, keepdim=keepdim), dtype))


def _count(x: Any, m: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    there = OPERATORS["ones_like"](x, dtype=_core._dtype_named("int64"))
    return OPERATORS["sum"](filled(there, m, 0), dims, keepdim=keepdim)


def mean(input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None,
         mask: Any = None) -> Any:
    """The mean of the elements where the mask holds; NaN for none.

    Args:
        input: A tensor, or a masked one.
        dim: Dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([2.0, 9.0, 4.0])
        >>> flambeau.masked.mean(x, mask=x < 5)
        tensor(3.)
    """
    def compute(x: Any, m: Any, dims: tuple[int, ...]) -> Any:
        total = OPERATORS["sum"](filled(floating(x, dtype), m, 0), dims, keepdim=keepdim)
        return total / _count(x, m, dims, keepdim)

    return reduced(input, mask, dim, keepdim, compute)


def var(input: Any, dim: Dims = None, unbiased: bool | None = None, *,
        correction: float | None = None, keepdim: bool = False, dtype: Any = None,
        mask: Any = None) -> Any:
    """The variance of the elements where the mask holds.

    Args:
        input: A tensor, or a masked one.
        dim: Dimensions to reduce; all by default.
        unbiased: Whether ``correction`` is 1 or 0.
        correction: Subtracted from the number of elements in the divisor; 1 by default.
        keepdim: Whether they are kept with size 1.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([2.0, 9.0, 4.0])
        >>> flambeau.masked.var(x, mask=x < 5)
        tensor(2.)
    """
    less = correction if correction is not None else 1 if unbiased is None else int(unbiased)

    def compute(x: Any, m: Any, dims: tuple[int, ...]) -> Any:
        wide = floating(x, dtype)
        count = _count(x, m, dims, True)
        middle = OPERATORS["sum"](filled(wide, m, 0), dims, keepdim=True) / count
        apart = filled(wide - middle, m, 0)
        squares = apart * apart.conj()      # of complex numbers complex, as in PyTorch
        total = OPERATORS["sum"](squares, dims, keepdim=keepdim)
        return total / (_count(x, m, dims, keepdim) - less).clamp(min=0)

    return reduced(input, mask, dim, keepdim, compute)


def std(input: Any, dim: Dims = None, unbiased: bool | None = None, *,
        correction: float | None = None, keepdim: bool = False, dtype: Any = None,
        mask: Any = None) -> Any:
    """The standard deviation of the elements where the mask holds: the root of `var`.

    Args:
        input: A tensor, or a masked one.
        dim: Dimensions to reduce; all by default.
        unbiased: Whether ``correction`` is 1 or 0.
        correction: Subtracted from the number of elements in the divisor; 1 by default.
        keepdim: Whether they are kept with size 1.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([2.0, 9.0, 6.0])
        >>> flambeau.masked.std(x, unbiased=False, mask=x < 9)
        tensor(2.)
    """
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype,
               mask=mask).sqrt()


def _index_of(name: str, fill: Callable[[Any], Any]) -> Callable[..., Any]:
    def index_of(input: Any, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None,
                 mask: Any = None) -> Any:
        def compute(x: Any, m: Any, dims: tuple[int, ...]) -> Any:
            found = OPERATORS[name](filled(x, m, fill(x.dtype)), dim, keepdim=keepdim)
            return found.to(dtype or x.dtype)

        return reduced(input, mask, dim, keepdim, compute)

    which = "greatest" if name == "argmax" else "least"
    index_of.__name__ = index_of.__qualname__ = name
    index_of.__doc__ = f"""The index of the {which} element where the mask holds.

    Args:
        input: A tensor, or a masked one.
        dim: The dimension to reduce; all by default, as if the tensor were flat.
        keepdim: Whether it is kept with size 1.
        dtype: Of the result; that of ``input`` by default, as in PyTorch.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([5, 9, 4])
        >>> flambeau.masked.{name}(x, mask=x != {9 if name == "argmax" else 4})
        tensor(0)
    """
    return index_of


argmax = _index_of("argmax", least)
argmin = _index_of("argmin", greatest)


def norm(input: Any, ord: float | None = 2.0, dim: Dims = None, *, keepdim: bool = False,
         dtype: Any = None, mask: Any = None) -> Any:
    """The vector norm of the elements where the mask holds.

    Args:
        input: A tensor, or a masked one.
        ord: Of the norm.
        dim: Dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([3.0, 9.0, 4.0])
        >>> flambeau.masked.norm(x, 2, mask=x < 5)
        tensor(5.)
    """
    from flambeau import linalg

    power = 2.0 if ord is None else ord

    def compute(x: Any, m: Any, dims: tuple[int, ...]) -> Any:
        return linalg.vector_norm(filled(x, m, math.inf if power < 0 else 0), power, dims,
                                  keepdim=keepdim, dtype=dtype)

    return reduced(input, mask, dim, keepdim, compute)


def logsumexp(input: Any, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None,
              mask: Any = None) -> Any:
    """The logarithm of the sum of exponentials where the mask holds; minus infinity for none.

    Args:
        input: A tensor, or a masked one.
        dim: Dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> flambeau.masked.logsumexp(flambeau.zeros(3), 0, mask=flambeau.arange(3) < 2)
        tensor(0.6931)
    """
    return reduced(input, mask, dim, keepdim, lambda x, m, dims: OPERATORS["logsumexp"](
        filled(floating(x, dtype), m, -math.inf), dims, keepdim=keepdim))


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None,
           mask: Any = None) -> Any:
    """The lower median of the elements where the mask holds; NaN for none.

    Args:
        input: A floating tensor, or a masked one.
        dim: The dimension to reduce.
        keepdim: Whether it is kept with size 1.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor; a masked one for a masked input.

    Raises:
        ValueError: The input is of integers, which have no NaN.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([3.0, 9.0, 4.0])
        >>> flambeau.masked.median(x, 0, mask=x < 5)
        tensor(3.)
    """
    def compute(x: Any, m: Any, dims: tuple[int, ...]) -> Any:
        if not x.is_floating_point():
            raise ValueError(f"median(): expected a floating input, got {x.dtype}; write x.float()")
        return cast(OPERATORS["nanmedian"](filled(x, m, math.nan), dim, keepdim=keepdim)[0], dtype)

    return reduced(input, mask, dim, keepdim, compute)
