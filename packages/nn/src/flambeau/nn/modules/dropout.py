"""Dropouts of elements, of channels, and those that keep mean and variance."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from flambeau import Tensor

from .._siblings import functional as F
from .module import Module


class _DropoutNd(Module):
    _operator: ClassVar[Callable[..., Tensor]]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if isinstance(p, str) or not 0 <= p <= 1:
            raise ValueError(f"the probability of dropping is between 0 and 1, not {p!r}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Drop parts of ``input`` when training."""
        return type(self)._operator(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes each element with probability ``p`` when training, and divides the rest by ``1 - p``.

    When evaluating it returns its input.

    Shapes: any.

    Args:
        p: The probability.
        inplace: Overwrite the input.

    Raises:
        ValueError: ``p`` is not between 0 and 1.

    Source: Hinton et al., *Improving neural networks by preventing co-adaptation of feature
    detectors* (2012).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Dropout(0.3).eval()(flambeau.ones(2))
        tensor([1., 1.])
    """

    _operator = F.dropout


class Dropout1d(_DropoutNd):
    """Zeroes whole channels of lines with probability ``p``, and divides the rest by ``1 - p``.

    When evaluating it returns its input.

    Shapes: input and output ``(N, C, L)`` or ``(C, L)``.

    Args:
        p: The probability.
        inplace: Overwrite the input.

    Raises:
        ValueError: ``p`` is not between 0 and 1.

    Source: Tompson et al., *Efficient object localization using convolutional networks* (2015).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> lines = nn.Dropout1d()(flambeau.ones(8, 3))
        >>> all(line in ([0.0] * 3, [2.0] * 3) for line in lines.tolist())
        True
    """

    _operator = F.dropout1d


class Dropout2d(_DropoutNd):
    """Zeroes whole channels of planes; the arguments are those of ``Dropout1d``.

    Shapes: input and output ``(N, C, H, W)`` or ``(N, C, L)``.

    Raises:
        ValueError: ``p`` is not between 0 and 1.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.Dropout2d(0.2)(flambeau.ones(2, 3, 4, 4)).shape)
        (2, 3, 4, 4)
    """

    _operator = F.dropout2d


class Dropout3d(_DropoutNd):
    """Zeroes whole channels of volumes; the arguments are those of ``Dropout1d``.

    Shapes: input and output ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Raises:
        ValueError: ``p`` is not between 0 and 1.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.Dropout3d(0.2)(flambeau.ones(2, 3, 4, 4, 4)).shape)
        (2, 3, 4, 4, 4)
    """

    _operator = F.dropout3d


class AlphaDropout(_DropoutNd):
    """Dropout for networks with ``SELU``: keeps mean 0 and variance 1.

    Dropped elements take SELU's limit at minus infinity, ``-1.7581``; then an affine map restores
    mean and variance. When evaluating it returns its input.

    Shapes: any.

    Args:
        p: The probability.
        inplace: Accepted for compatibility; the result is always a new tensor.

    Raises:
        ValueError: ``p`` is not between 0 and 1.

    Source: Klambauer et al., *Self-normalizing neural networks* (2017).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.AlphaDropout(0.3).eval()(flambeau.ones(2))
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop elements of ``input`` when training."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """``AlphaDropout`` of whole channels; the arguments are the same.

    Shapes: input and output ``(N, C, *)``.

    Raises:
        ValueError: ``p`` is not between 0 and 1.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.FeatureAlphaDropout(0.3).eval()(flambeau.ones(1, 2))
        tensor([[1., 1.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Drop channels of ``input`` when training."""
        return F.feature_alpha_dropout(input, self.p, self.training)
