"""Transposed convolutions: ``ConvTranspose1d``, ``ConvTranspose2d`` and ``ConvTranspose3d``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor

from .._siblings import functional as F
from ._sizes import Size, spread
from .conv import _ConvNd


class _ConvTransposeNd(_ConvNd):
    """What the transposed convolutions share."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
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
        sizes = {
            "kernel_size": kernel_size,
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "output_padding": output_padding,
        }
        made = {"device": device, "dtype": dtype}
        self._set_up(in_channels, out_channels, sizes, groups, bias, padding_mode, made)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Spread ``input`` with the kernels.

        Args:
            input: With or without a batch dimension.
            output_size: Which of the sizes that a convolution of this stride maps to the input's
                the output has; it replaces ``output_padding``.

        Raises:
            ValueError: A convolution does not map this size to the input's.
        """
        extra = self.output_padding
        if output_size is not None:
            extra = self._extra_for(input, output_size)
        return type(self)._operator(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )

    def _output_padding(
        self,
        input: Tensor,
        output_size: Sequence[int] | None,
        stride: Size,
        padding: Size,
        kernel_size: Size,
        num_spatial_dims: int,
        dilation: Size | None = None,
    ) -> tuple[int, ...]:
        """What ``output_size`` asks for, for classes with a ``forward`` of their own.

        The sizes are this layer's own, whatever is given.
        """
        return self.output_padding if output_size is None else self._extra_for(input, output_size)

    def _check_padding(self) -> None:
        own = type(self).__name__
        if self.padding_mode != "zeros":
            raise ValueError(f'{own} has padding_mode="zeros" alone, not {self.padding_mode!r}')
        if isinstance(self.padding, str):
            raise ValueError(f"{own} takes padding as a size, not {self.padding!r}")

    def _extra_for(self, input: Tensor, output_size: Sequence[int]) -> tuple[int, ...]:
        """The output padding that leads to ``output_size``."""
        wanted = tuple(output_size)
        leading = input.ndim - self._dims
        if len(wanted) == input.ndim:
            wanted = wanted[leading:]
        if len(wanted) != self._dims:
            raise ValueError(
                f"output_size has {self._dims} or {input.ndim} numbers for an input of shape "
                f"{tuple(input.shape)}, not {tuple(output_size)}"
            )
        settings = zip(
            input.shape[leading:],
            spread(self.stride, self._dims, "stride"),
            spread(self.padding, self._dims, "padding"),
            spread(self.dilation, self._dims, "dilation"),
            self.kernel_size,
            strict=True,
        )
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in settings]
        most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
        if any(not a <= n <= b for a, n, b in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"output_size {wanted} is not between {tuple(least)} and {tuple(most)}, the sizes "
                f"that lead to an input of shape {tuple(input.shape)}"
            )
        return tuple(n - a for n, a in zip(wanted, least, strict=True))


class ConvTranspose1d(_ConvTransposeNd):
    r"""The gradient of ``Conv1d`` with respect to its input, as a layer: it enlarges a line.

    Every input element adds its multiple of the kernel to the output, ``stride`` apart. Weight
    and bias start uniform in ``[-b, b]`` with ``b = 1/sqrt(out_channels/groups * kernel_size)``.

    Shapes: input ``(N, in_channels, L)`` or ``(in_channels, L)``; output
    ``(N, out_channels, L')`` with
    ``L' = (L - 1)*stride - 2*padding + dilation*(kernel_size - 1) + output_padding + 1``;
    weight ``(in_channels, out_channels/groups, kernel_size)``.

    Args:
        in_channels: Lines of the input.
        out_channels: Lines of the output.
        kernel_size: Length of the kernel.
        stride: Distance of the kernels in the output.
        padding: How much is cut off at both sides of the output.
        output_padding: How much is added at one side of the output; less than the stride or the
            dilation.
        groups: Independent parts into which the channels are divided.
        bias: Whether to add a bias.
        dilation: Distance between the kernel's taps.
        padding_mode: Only ``"zeros"``.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: ``groups`` does not divide the channels, or the padding is not possible.

    Source: Zeiler et al., *Deconvolutional networks* (2010); Dumoulin and Visin, *A guide to
    convolution arithmetic for deep learning* (2016).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> up = nn.ConvTranspose1d(4, 2, 3, stride=2, padding=1)
        >>> tuple(up(flambeau.zeros(1, 4, 6)).shape)
        (1, 2, 11)
        >>> tuple(up(flambeau.zeros(1, 4, 6), output_size=(12,)).shape)
        (1, 2, 12)
    """

    _operator = F.conv_transpose1d
    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    r"""The gradient of ``Conv2d`` with respect to its input, as a layer: it enlarges a plane.

    The mathematics and the arguments are those of ``ConvTranspose1d``, with one number for both
    dimensions or one for each.

    Shapes: input ``(N, in_channels, H, W)`` or ``(in_channels, H, W)``; output
    ``(N, out_channels, H', W')``; weight ``(in_channels, out_channels/groups, *kernel_size)``.

    Raises:
        ValueError: ``groups`` does not divide the channels, or the padding is not possible.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.ConvTranspose2d(8, 3, 2, stride=2)(flambeau.zeros(1, 8, 7, 7)).shape)
        (1, 3, 14, 14)
    """

    _operator = F.conv_transpose2d
    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    r"""The gradient of ``Conv3d`` with respect to its input, as a layer: it enlarges a volume.

    The mathematics and the arguments are those of ``ConvTranspose1d``, with one number for all
    dimensions or one for each.

    Shapes: input ``(N, in_channels, D, H, W)`` or ``(in_channels, D, H, W)``; output
    ``(N, out_channels, D', H', W')``; weight
    ``(in_channels, out_channels/groups, *kernel_size)``.

    Raises:
        ValueError: ``groups`` does not divide the channels, or the padding is not possible.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.ConvTranspose3d(4, 2, 2, stride=2)(flambeau.zeros(1, 4, 2, 3, 3)).shape)
        (1, 2, 4, 6, 6)
    """

    _operator = F.conv_transpose3d
    _dims = 3
