"""Functions whose outputs are probabilities along a dimension, or their logarithms."""

from __future__ import annotations

from flambeau import Tensor

from ..._siblings import functional as F
from ..module import Module
from ._base import AlongDim


class Softmax(AlongDim):
    """``exp(x) / sum(exp(x))`` along ``dim``.

    Args:
        dim: The dimension whose values sum to one; leaving it out is deprecated.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Softmax(dim=1)(flambeau.zeros(1, 2))
        tensor([[0.5000, 0.5000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(AlongDim):
    """``x - log(sum(exp(x)))`` along ``dim``.

    Args:
        dim: The dimension that is normalized; leaving it out is deprecated.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.LogSoftmax(dim=1)(flambeau.zeros(1, 2))
        tensor([[-0.6931, -0.6931]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmin(AlongDim):
    """``exp(-x) / sum(exp(-x))`` along ``dim``.

    Args:
        dim: The dimension whose values sum to one; leaving it out is deprecated.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Softmin(dim=1)(flambeau.zeros(1, 2))
        tensor([[0.5000, 0.5000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """``Softmax`` over the channels at every pixel of an image.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``.

    Raises:
        ValueError: The input has another number of dimensions (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Softmax2d()(flambeau.zeros(4, 1, 1)).flatten()
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        if input.ndim not in (3, 4):
            raise ValueError(
                "Softmax2d takes an input of shape (N, C, H, W) or (C, H, W), not "
                f"{tuple(input.shape)}; nn.Softmax(dim) takes any"
            )
        return F.softmax(input, -3)
