"""``MaxPool2d``, ``AvgPool2d`` and ``AdaptiveAvgPool2d``."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from .. import functional as F
from ._pair import IntPair
from .module import Module


class MaxPool2d(Module):
    """The greatest value in each window of a plane.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output ``(N, C, H', W')`` with
    ``H' = floor((H + 2*padding - dilation*(kernel_size - 1) - 1) / stride + 1)``.

    Args:
        kernel_size: Height and width of the window, or one number for both.
        stride: Step of the window; the window's size when left out.
        padding: Border of minus infinity around the plane.
        dilation: Distance between the window's elements.
        return_indices: Also return where the values were.
        ceil_mode: Round the output's size up.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.MaxPool2d(2)(flambeau.arange(16.0).reshape(1, 1, 4, 4))
        tensor([[[[ 5.,  7.],
                  [13., 15.]]]])
    """

    def __init__(
        self,
        kernel_size: IntPair,
        stride: IntPair | None = None,
        padding: IntPair = 0,
        dilation: IntPair = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """Pool ``input``."""
        return F.max_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class AvgPool2d(Module):
    """The mean of each window of a plane.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output ``(N, C, H', W')`` with
    ``H' = floor((H + 2*padding - kernel_size) / stride + 1)``.

    Args:
        kernel_size: Height and width of the window, or one number for both.
        stride: Step of the window; the window's size when left out.
        padding: Zeros around the plane.
        ceil_mode: Round the output's size up.
        count_include_pad: Whether padding counts in the divisor.
        divisor_override: Divide by this number instead.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.AvgPool2d(2)(flambeau.arange(16.0).reshape(1, 1, 4, 4))
        tensor([[[[ 2.5000,  4.5000],
                  [10.5000, 12.5000]]]])
    """

    def __init__(
        self,
        kernel_size: IntPair,
        stride: IntPair | None = None,
        padding: IntPair = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input``."""
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool2d(Module):
    """The mean of windows chosen so that the output has a given size.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output ``(N, C, *output_size)``.

    Args:
        output_size: Height and width of the output, or one number for both.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.AdaptiveAvgPool2d(1)(flambeau.arange(16.0).reshape(1, 1, 4, 4))
        tensor([[[[7.5000]]]])
    """

    def __init__(self, output_size: IntPair) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input``."""
        return F.adaptive_avg_pool2d(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"
