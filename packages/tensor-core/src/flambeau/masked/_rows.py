"""Softmax, running sums and the like over the elements that a mask leaves."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from flambeau.masked._reductions import norm
from flambeau.masked._selection import (
    OPERATORS,
    cast,
    filled,
    masked_parts,
)
from flambeau.masked._tensor import MaskedTensor, as_masked_tensor


def _along(name: str, doc: str, example: str, fill: Callable[[Any], Any],
           compute: Callable[[Any, int], Any]) -> Callable[..., Any]:
    def along(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
        data, wanted = masked_parts(input, mask)
        result = compute(filled(cast(data, dtype), wanted, fill(data.dtype)), dim)
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
                 lambda x, dim: OPERATORS["softmax"](x, dim))
log_softmax = _along("log_softmax", "The logarithm of `softmax`.",
                     "tensor([-0.6931,    -inf, -0.6931])", lambda d: -math.inf,
                     lambda x, dim: OPERATORS["log_softmax"](x, dim))
softmin = _along("softmin", "The softmax of the negative elements where the mask holds.",
                 "tensor([0.5000, 0.0000, 0.5000])", lambda d: math.inf,
                 lambda x, dim: OPERATORS["softmax"](-x, dim))
cumsum = _along("cumsum", "Running sums of the elements where the mask holds.",
                "tensor([1., 1., 2.])", lambda d: 0, lambda x, dim: OPERATORS["cumsum"](x, dim))
cumprod = _along("cumprod", "Running products of the elements where the mask holds.",
                 "tensor([1., 1., 1.])", lambda d: 1, lambda x, dim: OPERATORS["cumprod"](x, dim))


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
    data, wanted = masked_parts(input, mask)
    length = norm(data, ord, dim, keepdim=True, dtype=dtype, mask=wanted)
    result = filled(cast(data, dtype), wanted, 0) / length.clamp(min=eps)
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
        data, wanted = masked_parts(x, mask)
        terms.append(filled(cast(data, dtype), wanted, -math.inf))
    return OPERATORS["logaddexp"](*terms)
