"""Masked tensors, and reductions over the elements that a mask leaves.

Example:
    >>> import flambeau
    >>> x = flambeau.tensor([[1.0, -2.0], [3.0, 4.0]])
    >>> flambeau.masked.softmax(x, 1, mask=x > 0)
    tensor([[1.0000, 0.0000],
            [0.2689, 0.7311]])
"""
from flambeau.masked._reductions import (
    amax,
    amin,
    argmax,
    argmin,
    logsumexp,
    mean,
    median,
    norm,
    prod,
    std,
    sum,
    var,
)
from flambeau.masked._rows import (
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    normalize,
    softmax,
    softmin,
)
from flambeau.masked._tensor import (
    MaskedTensor,
    as_masked_tensor,
    is_masked_tensor,
    masked_tensor,
)

__all__ = ["MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod",
           "cumsum", "is_masked_tensor", "log_softmax", "logaddexp", "logsumexp", "masked_tensor",
           "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
           "var"]
