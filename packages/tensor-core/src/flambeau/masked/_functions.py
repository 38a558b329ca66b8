"""Reductions, softmax and the like over the elements that a mask leaves."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.core import _core, functions
from flambeau.core.dtypes import iinfo
from flambeau.masked._tensor import MaskedTensor, as_masked_tensor

_op = {**functions, **_core.operators()}
Dims = int | Sequence[int] | None


def _parts(input: Any, mask: Any) -> tuple[Any, Any]:
    """The elements, and which take part, of the elements' shape."""
    own = input.get_mask() if isinstance(input, MaskedTensor) else None
    data = input.get_data() if isinstance(input, MaskedTensor) else input
    if mask is not None and mask.dtype is not _core._dtype_named("bool"):
        raise TypeError(f"mask has dtype {mask.dtype}; it is of bool, e.g. x != 0")
    if mask is not None:
        mask = mask.expand(data.shape) if tuple(mask.shape) != tuple(data.shape) else mask
    both = mask if own is None else own if mask is None else own & mask
    return data, both


def _filled(data: Any, mask: Any, value: Any) -> Any:
    return data if mask is None else _op["where"](mask, data, value)


def _least(dtype: Any) -> Any:
    return -math.inf if dtype.is_floating_point else \
        False if dtype.name == "bool" else iinfo(dtype).min


def _greatest(dtype: Any) -> Any:
    return math.inf if dtype.is_floating_point else \
        True if dtype.name == "bool" else iinfo(dtype).max


def _dims(data: Any, dim: Dims) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(data.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _reduced(input: Any, mask: Any, dim: Dims, keepdim: bool,
             compute: Callable[[Any, Any, tuple[int, ...]], Any]) -> Any:
    data, wanted = _parts(input, mask)
    dims = _dims(data, dim)
    result = compute(data, wanted, dims)
    if not isinstance(input, MaskedTensor):
        return result
    left = _op["any"](wanted, dims, keepdim=keepdim) if dims else wanted
    return as_masked_tensor(result, left)


def _cast(data: Any, dtype: Any) -> Any:
    return data if dtype is None else data.to(dtype)


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
    return _reduced(input, mask, dim, keepdim, lambda x, m, dims: _op["sum"](
        _filled(x, m, 0), dims, keepdim=keepdim, dtype=dtype))


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
        result = _cast(_filled(x, m, 1), dtype)
        for d in sorted((d % max(x.ndim, 1) for d in dims), reverse=True):
            result = _op["prod"](result, d, keepdim=keepdim)
        return result

    return _reduced(input, mask, dim, keepdim, compute)


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
    return _reduced(input, mask, dim, keepdim, lambda x, m, dims: _cast(_op["amax"](
        _filled(x, m, _least(x.dtype)), dims, keepdim=keepdim), dtype))


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
    return _reduced(input, mask, dim, keepdim, lambda x, m, dims: _cast(_op["amin"](
        _filled(x, m, _greatest(x.dtype)), dims, keepdim=keepdim), dtype))


def _floating(x: Any, dtype: Any) -> Any:
    if dtype is not None:
        return x.to(dtype)
    return x if x.is_floating_point() or x.is_complex() else x.to(_core.get_default_dtype())


def _count(x: Any, m: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    there = _op["ones_like"](x, dtype=_core._dtype_named("int64"))
    return _op["sum"](_filled(there, m, 0), dims, keepdim=keepdim)


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
        total = _op["sum"](_filled(_floating(x, dtype), m, 0), dims, keepdim=keepdim)
        return total / _count(x, m, dims, keepdim)

    return _reduced(input, mask, dim, keepdim, compute)


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
        wide = _floating(x, dtype)
        count = _count(x, m, dims, True)
        middle = _op["sum"](_filled(wide, m, 0), dims, keepdim=True) / count
        apart = _filled(wide - middle, m, 0)
        squares = (apart * apart.conj()).real if apart.is_complex() else apart * apart
        total = _op["sum"](squares, dims, keepdim=keepdim)
        return total / (_count(x, m, dims, keepdim) - less).clamp(min=0)

    return _reduced(input, mask, dim, keepdim, compute)


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
            found = _op[name](_filled(x, m, fill(x.dtype)), dim, keepdim=keepdim)
            return found.to(dtype or x.dtype)

        return _reduced(input, mask, dim, keepdim, compute)

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


argmax = _index_of("argmax", _least)
argmin = _index_of("argmin", _greatest)


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
        return linalg.vector_norm(_filled(x, m, math.inf if power < 0 else 0), power, dims,
                                  keepdim=keepdim, dtype=dtype)

    return _reduced(input, mask, dim, keepdim, compute)


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
    return _reduced(input, mask, dim, keepdim, lambda x, m, dims: _op["logsumexp"](
        _filled(_floating(x, dtype), m, -math.inf), dims, keepdim=keepdim))


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
        return _cast(_op["nanmedian"](_filled(x, m, math.nan), dim, keepdim=keepdim)[0], dtype)

    return _reduced(input, mask, dim, keepdim, compute)


def _along(name: str, doc: str, example: str, fill: Callable[[Any], Any],
           compute: Callable[[Any, int], Any]) -> Callable[..., Any]:
    def along(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
        data, wanted = _parts(input, mask)
        result = compute(_filled(_cast(data, dtype), wanted, fill(data.dtype)), dim)
        return as_masked_tensor(result, wanted) if isinstance(input, MaskedTensor) else result

    along.__name__ = along.__qualname__ = name
    along.__doc__ = f"""{doc}

    Args:
        input: A tensor, or a masked one.
        dim: The dimension along which it runs.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor of the same shape; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([1.0, 2.0, 1.0])
        >>> flambeau.masked.{name}(x, 0, mask=x < 2)
        {example}
    """
    return along


softmax = _along("softmax", "The softmax of the elements where the mask holds; 0 elsewhere.",
                 "tensor([0.5000, 0.0000, 0.5000])", lambda d: -math.inf,
                 lambda x, dim: _op["softmax"](x, dim))
log_softmax = _along("log_softmax", "The logarithm of `softmax`.",
                     "tensor([-0.6931,    -inf, -0.6931])", lambda d: -math.inf,
                     lambda x, dim: _op["log_softmax"](x, dim))
softmin = _along("softmin", "The softmax of the negative elements where the mask holds.",
                 "tensor([0.5000, 0.0000, 0.5000])", lambda d: math.inf,
                 lambda x, dim: _op["softmax"](-x, dim))
cumsum = _along("cumsum", "Running sums of the elements where the mask holds.",
                "tensor([1., 1., 2.])", lambda d: 0, lambda x, dim: _op["cumsum"](x, dim))
cumprod = _along("cumprod", "Running products of the elements where the mask holds.",
                 "tensor([1., 1., 1.])", lambda d: 1, lambda x, dim: _op["cumprod"](x, dim))


def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None,
              mask: Any = None) -> Any:
    """The elements where the mask holds, divided by their norm; 0 elsewhere.

    Args:
        input: A tensor, or a masked one.
        ord: Of the norm.
        dim: The dimension of the vectors.
        eps: The least divisor.
        dtype: Of the result.
        mask: Bools that broadcast to ``input``.

    Returns:
        A tensor of the same shape; a masked one for a masked input.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([3.0, 9.0, 4.0])
        >>> flambeau.masked.normalize(x, 2, 0, mask=x < 5)
        tensor([0.6000, 0.0000, 0.8000])
    """
    data, wanted = _parts(input, mask)
    length = norm(data, ord, dim, keepdim=True, dtype=dtype, mask=wanted)
    result = _filled(_cast(data, dtype), wanted, 0) / length.clamp(min=eps)
    return as_masked_tensor(result, wanted) if isinstance(input, MaskedTensor) else result


def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None,
              other_mask: Any = None) -> Any:
    """``log(exp(input) + exp(other))``, without the terms where a mask does not hold.

    Args:
        input: A tensor.
        other: A tensor.
        dtype: Of the result.
        input_mask: Bools that broadcast to ``input``.
        other_mask: Bools that broadcast to ``other``.

    Returns:
        A tensor.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([0.0, 1.0])
        >>> flambeau.masked.logaddexp(x, x, other_mask=x > 0)
        tensor([0.0000, 1.6931])
    """
    terms = []
    for x, mask in ((input, input_mask), (other, other_mask)):
        data, wanted = _parts(x, mask)
        terms.append(_filled(_cast(data, dtype), wanted, -math.inf))
    return _op["logaddexp"](*terms)
