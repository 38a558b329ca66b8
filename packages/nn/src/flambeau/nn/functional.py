"""Functions of neural networks under PyTorch's names.

Most are operators of the core, handed on as they are, so that calling them costs no Python frame.
What is written here adds an argument that the operator does not have, a check, or composes.

Example:
    >>> import flambeau
    >>> import flambeau.nn.functional as F
    >>> F.relu(flambeau.tensor([-1.0, 2.0]))
    tensor([0., 2.])
"""

from __future__ import annotations

import warnings

import flambeau.core.functional as operators
import flambeau.nn.grad as grad  # noqa: F401  `F.grad`
from flambeau import Tensor
from flambeau.core import _core
from flambeau.core.functional import *  # noqa: F403  operators; core/functional.pyi shows them
from flambeau.core.ops import sigmoid as sigmoid
from flambeau.core.ops import tanh as tanh

from ._core import ops
from ._grouped import grouped_mm as grouped_mm
from ._linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
from ._multihead import multi_head_attention_forward as multi_head_attention_forward
from ._scaled import ScalingType as ScalingType
from ._scaled import SwizzleType as SwizzleType
from ._scaled import scaled_mm as scaled_mm

native_channel_shuffle = ops.channel_shuffle


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """``conv1d`` of sequences whose first dimension is the time and whose last the channels.

    Args:
        input: Shape ``(T, N, in_channels)``.
        weight: Shape ``(kernel size, in_channels, out_channels)``.
        bias: Shape ``(out_channels,)``.
        pad: Zeros at both ends.

    Returns:
        Shape ``(T + 2*pad - kernel size + 1, N, out_channels)``.

    Raises:
        RuntimeError: Input or weight does not have three dimensions, or sizes do not fit.

    Example:
        >>> import flambeau
        >>> x, w, b = flambeau.ones(4, 1, 2), flambeau.ones(3, 2, 1), flambeau.zeros(1)
        >>> conv_tbc(x, w, b).flatten()
        tensor([6., 6.])
    """
    if input.ndim != 3 or weight.ndim != 3:
        raise RuntimeError(
            "conv_tbc() takes an input (time, batch, channels) and a weight (kernel, in, out), not "
            f"shapes {tuple(input.shape)} and {tuple(weight.shape)}"
        )
    lines = ops.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return lines.permute(2, 0, 1)


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: object = None
) -> Tensor:
    """``exp(x) / sum(exp(x))`` along ``dim``.

    Args:
        input: Any shape.
        dim: The dimension whose values sum to one; leaving it out is deprecated.
        dtype: Convert to this dtype first.

    Example:
        >>> import flambeau
        >>> softmax(flambeau.zeros(1, 2), dim=1)
        tensor([[0.5000, 0.5000]])
    """
    if dim is None:
        dim = _implicit_dim("softmax", input, _stacklevel)
    return ops.softmax(input, dim, dtype=dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: object = None
) -> Tensor:
    """``exp(-x) / sum(exp(-x))`` along ``dim``.

    Args:
        input: Any shape.
        dim: The dimension whose values sum to one; leaving it out is deprecated.
        dtype: Convert to this dtype first.

    Example:
        >>> import flambeau
        >>> softmin(flambeau.zeros(1, 2), dim=1)
        tensor([[0.5000, 0.5000]])
    """
    if dim is None:
        dim = _implicit_dim("softmin", input, _stacklevel)
    return ops.softmax(-input, dim, dtype=dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A draw from the classes along ``dim``, relaxed so that it has a gradient (Gumbel-softmax).

    Args:
        logits: Unnormalized logarithms of the probabilities.
        tau: Temperature; the lower, the nearer to one class alone.
        hard: Give the class with the greatest share one and the others zero; the gradient stays
            that of the shares.
        eps: Accepted for compatibility.
        dim: The dimension of the classes.

    Example:
        >>> import flambeau
        >>> gumbel_softmax(flambeau.tensor([-1e9, 0.0, -1e9]), hard=True)
        tensor([0., 1., 0.])
    """
    if not isinstance(logits, Tensor):
        raise TypeError(
            f"gumbel_softmax(): argument 'logits' must be a Tensor, not {type(logits).__name__}"
        )
    noise = -ops.log(ops.empty_like(logits).exponential_())
    shares = ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return shares
    index = ops.argmax(shares, dim, True)
    chosen = ops.zeros_like(logits).scatter_(dim, index, 1.0)
    return chosen - shares.detach() + shares


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: object = None
) -> Tensor:
    """``x - log(sum(exp(x)))`` along ``dim``.

    Args:
        input: Any shape.
        dim: The dimension that is normalized; leaving it out is deprecated.
        dtype: Convert to this dtype first.

    Example:
        >>> import flambeau
        >>> log_softmax(flambeau.zeros(1, 2), dim=1)
        tensor([[-0.6931, -0.6931]])
    """
    if dim is None:
        dim = _implicit_dim("log_softmax", input, _stacklevel)
    return ops.log_softmax(input, dim, dtype=dtype)


def _implicit_dim(name: str, input: Tensor, stacklevel: int) -> int:
    """The dimension PyTorch's first versions chose, with a warning."""
    dim = 0 if input.ndim in (0, 1, 3) else 1
    warnings.warn(
        f"{name}() without dim chooses dim={dim} for an input of {input.ndim} dimensions; "
        f"write {name}(input, dim={dim})",
        stacklevel=stacklevel,
    )
    return dim


__all__ = [
    "conv_tbc",
    "grouped_mm",
    "gumbel_softmax",
    "linear_cross_entropy",
    "log_softmax",
    "multi_head_attention_forward",
    "native_channel_shuffle",
    "scaled_mm",
    "sigmoid",
    "softmax",
    "softmin",
    "tanh",
]
__all__ += operators.__all__
_core.cover_functions(globals(), __all__)
