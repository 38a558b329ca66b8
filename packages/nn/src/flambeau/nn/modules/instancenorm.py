"""Instance normalization: ``InstanceNorm1d``, ``InstanceNorm2d`` and ``InstanceNorm3d``."""

from __future__ import annotations

import warnings
from typing import Any

from flambeau import Tensor

from .._siblings import functional as F
from .batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """Normalize each channel of each sample of ``input``."""
        self._check_input_dim(input)
        dim = self._channel_dim(input)
        self._check_channels(input, dim)
        if dim == 0:
            return self._normalize(input.unsqueeze(0)).squeeze(0)
        return self._normalize(input)

    def _normalize(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def _channel_dim(self, input: Tensor) -> int:
        """The first of a single sample, the second of a batch."""
        return 0 if input.ndim == min(self._shapes) else 1

    def _check_channels(self, input: Tensor, dim: int) -> None:
        channels = input.shape[dim]
        if channels == self.num_features:
            return
        text = (
            f"{type(self).__name__} has num_features={self.num_features}, but dimension {dim} of "
            f"the input of shape {tuple(input.shape)} has {channels} channels"
        )
        if self.affine or self.track_running_stats:
            raise ValueError(text)
        warnings.warn(text + "; without affine=True that makes no difference", stacklevel=4)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes every channel of every sample over the length.

    ``y = (x - mean) / sqrt(var + eps) * weight + bias`` with mean and biased variance of each
    line, in training and in evaluation; with running statistics, these when evaluating.

    Shapes: input and output ``(N, C, L)`` or ``(C, L)``.

    Args:
        num_features: The number of channels ``C``.
        eps: Keeps the division away from zero.
        momentum: Weight of the newest batch in running statistics.
        affine: Whether to learn ``weight`` and ``bias``.
        bias: Whether to learn ``bias``.
        track_running_stats: Whether to keep running statistics.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: The input has another number of dimensions, or with ``affine`` of channels;
            when training, there is one element to a line.

    Source: Ulyanov, Vedaldi and Lempitsky, *Instance normalization* (2016).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.InstanceNorm1d(1)(flambeau.tensor([[1.0, 3.0]]))
        tensor([[-1.0000,  1.0000]])
    """

    _shapes = {2: "(C, L)", 3: "(N, C, L)"}


class InstanceNorm2d(_InstanceNorm):
    """Normalizes every channel of every sample over the plane.

    The mathematics and the arguments are those of ``InstanceNorm1d``.

    Shapes: input and output ``(N, C, H, W)`` or ``(C, H, W)``.

    Raises:
        ValueError: The input has another number of dimensions, or with ``affine`` of channels.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.InstanceNorm2d(3)(flambeau.zeros(2, 3, 4, 4)).shape)
        (2, 3, 4, 4)
    """

    _shapes = {3: "(C, H, W)", 4: "(N, C, H, W)"}


class InstanceNorm3d(_InstanceNorm):
    """Normalizes every channel of every sample over the volume.

    The mathematics and the arguments are those of ``InstanceNorm1d``.

    Shapes: input and output ``(N, C, D, H, W)`` or ``(C, D, H, W)``.

    Raises:
        ValueError: The input has another number of dimensions, or with ``affine`` of channels.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.InstanceNorm3d(3)(flambeau.zeros(3, 4, 4, 4)).shape)
        (3, 4, 4, 4)
    """

    _shapes = {4: "(C, D, H, W)", 5: "(N, C, D, H, W)"}
