"""Lazy forms of the layers: they take the number of input channels from the first input."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from ..parameter import UninitializedBuffer, UninitializedParameter
from ._sizes import Size
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, _NormBase
from .conv import Conv1d, Conv2d, Conv3d, _ConvNd, check_groups
from .convtranspose import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .lazy import LazyModuleMixin, channels_of
from .linear import Linear


class LazyLinear(LazyModuleMixin, Linear):
    """``Linear`` that takes ``in_features`` from the last dimension of the first input.

    Shapes: as ``Linear``.

    Args:
        out_features: Size of the last dimension of the output.
        bias: Whether to add a bias.
        device: Where the parameters are made.
        dtype: Their dtype.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.LazyLinear(2)
        >>> _ = layer(flambeau.zeros(4, 3))
        >>> layer
        Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.out_features = out_features
        self.weight = UninitializedParameter(**made)
        if bias:
            self.bias = UninitializedParameter(**made)

    def reset_parameters(self) -> None:
        """Draw new initial values, once there are parameters."""
        if self.in_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Make the parameters for an input like this."""
        if not self.has_uninitialized_params():
            self.in_features = int(self.weight.shape[1])
            return
        self.in_features = int(input.shape[-1])
        weight = (self.out_features, self.in_features)
        self._materialize({"weight": weight, "bias": (self.out_features,)})
        self.reset_parameters()


class _LazyChannels(LazyModuleMixin, _ConvNd):
    """A convolution whose parameters wait for the number of input channels."""

    def _make_parameters(self, bias: bool, made: dict[str, Any]) -> None:
        self.weight = UninitializedParameter(**made)
        self.register_parameter("bias", UninitializedParameter(**made) if bias else None)

    def reset_parameters(self) -> None:
        """Draw new initial values, once there are parameters."""
        if self.in_channels and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *_: Any, **__: Any) -> None:
        """Make the parameters for an input like this.

        Raises:
            RuntimeError: The input has another number of dimensions.
            ValueError: ``groups`` does not divide its channels.
        """
        if not self.has_uninitialized_params():
            per_group = self.weight.shape[0 if self.transposed else 1]
            self.in_channels = int(per_group) * (1 if self.transposed else self.groups)
            return
        channels = channels_of(input, self._dims, self)
        check_groups(channels, self.out_channels, self.groups)
        self.in_channels = channels
        self._materialize({"weight": self._weight_shape(), "bias": (self.out_channels,)})
        self.reset_parameters()


class _LazyConv(_LazyChannels):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: str | Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )


class LazyConv1d(_LazyConv, Conv1d):
    """``Conv1d`` that takes ``in_channels`` from the first input; the other arguments are its.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.LazyConv1d(8, 3)(flambeau.zeros(2, 4, 9)).shape)
        (2, 8, 7)
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """``Conv2d`` that takes ``in_channels`` from the first input; the other arguments are its.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.LazyConv2d(8, 3)
        >>> _ = layer(flambeau.zeros(2, 4, 9, 9))
        >>> layer
        Conv2d(4, 8, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """``Conv3d`` that takes ``in_channels`` from the first input; the other arguments are its.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.LazyConv3d(8, 3)(flambeau.zeros(2, 4, 5, 5, 5)).shape)
        (2, 8, 3, 3, 3)
    """

    cls_to_become = Conv3d


class _LazyConvTranspose(_LazyChannels):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            bias,
            dilation,
            padding_mode,
            device,
            dtype,
        )


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """``ConvTranspose1d`` that takes ``in_channels`` from the first input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.LazyConvTranspose1d(8, 2, 2)(flambeau.zeros(2, 4, 5)).shape)
        (2, 8, 10)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """``ConvTranspose2d`` that takes ``in_channels`` from the first input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.LazyConvTranspose2d(8, 2, 2)(flambeau.zeros(2, 4, 5, 5)).shape)
        (2, 8, 10, 10)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """``ConvTranspose3d`` that takes ``in_channels`` from the first input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.LazyConvTranspose3d(8, 2, 2)(flambeau.zeros(2, 4, 2, 2, 2)).shape)
        (2, 8, 4, 4, 4)
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin, _NormBase):
    """A norm whose parameters and statistics wait for the number of channels."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(**made)
        if affine and bias:
            self.bias = UninitializedParameter(**made)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**made)
            self.running_var = UninitializedBuffer(**made)
            self.num_batches_tracked = flambeau.tensor(0, dtype=flambeau.int64, device=device)

    def reset_parameters(self) -> None:
        """Go back to scale 1, shift 0 and no statistics, once there are parameters."""
        if self.num_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Make the parameters and statistics for an input like this.

        Raises:
            ValueError: The input has another number of dimensions.
        """
        self._check_input_dim(input)
        known = self.running_mean if self.weight is None else self.weight
        if known is None or self.has_uninitialized_params():
            self.num_features = int(input.shape[self._channel_dim(input)])
        else:
            self.num_features = int(known.shape[0])
        if self.has_uninitialized_params():
            names = ("weight", "bias", "running_mean", "running_var")
            self._materialize(dict.fromkeys(names, (self.num_features,)))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """``BatchNorm1d`` that takes ``num_features`` from the first input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.LazyBatchNorm1d()
        >>> _ = layer(flambeau.zeros(2, 4, 5))
        >>> layer.num_features
        4
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """``BatchNorm2d`` that takes ``num_features`` from the first input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.LazyBatchNorm2d()
        >>> _ = layer(flambeau.zeros(2, 4, 5, 5))
        >>> layer.num_features
        4
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """``BatchNorm3d`` that takes ``num_features`` from the first input.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.LazyBatchNorm3d()
        >>> _ = layer(flambeau.zeros(2, 4, 3, 3, 3))
        >>> layer.num_features
        4
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """``InstanceNorm1d`` that takes ``num_features`` from the first input. By default it
    learns a scale and a shift and keeps running statistics, which ``InstanceNorm1d`` does not.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.LazyInstanceNorm1d()
        >>> _ = layer(flambeau.zeros(2, 4, 5))
        >>> layer.num_features
        4
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """``InstanceNorm2d`` that takes ``num_features`` from the first input. By default it
    learns a scale and a shift and keeps running statistics, which ``InstanceNorm2d`` does not.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.LazyInstanceNorm2d()
        >>> _ = layer(flambeau.zeros(2, 4, 5, 5))
        >>> layer.num_features
        4
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """``InstanceNorm3d`` that takes ``num_features`` from the first input. By default it
    learns a scale and a shift and keeps running statistics, which ``InstanceNorm3d`` does not.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> layer = nn.LazyInstanceNorm3d()
        >>> _ = layer(flambeau.zeros(2, 4, 3, 3, 3))
        >>> layer.num_features
        4
    """

    cls_to_become = InstanceNorm3d
