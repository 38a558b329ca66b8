"""Pooling over windows: the greatest value, the mean, the power mean.

``adaptivepooling`` has the kinds whose windows follow from the output's size, ``unpooling`` undoes
the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from flambeau import Tensor

from .._siblings import functional as F
from ._sizes import Size, spread
from .module import Module


class _MaxPoolNd(Module):
    _operator: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
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
        return type(self)._operator(
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


class MaxPool1d(_MaxPoolNd):
    """The greatest value in each window of a line.

    Shapes: input ``(N, C, L)`` or ``(C, L)``; output ``(N, C, L')`` with
    ``L' = floor((L + 2*padding - dilation*(kernel_size - 1) - 1) / stride + 1)``.

    Args:
        kernel_size: Length of the window.
        stride: Step of the window; the window's size when left out.
        padding: Border of minus infinity at both ends; at most half of the window.
        dilation: Distance between the window's elements.
        return_indices: Also return where the values were, for ``MaxUnpool1d``.
        ceil_mode: Round the output's size up.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.MaxPool1d(2)(flambeau.tensor([[1.0, 5.0, 2.0, 4.0]]))
        tensor([[5., 4.]])
    """

    _operator = F.max_pool1d


class MaxPool2d(_MaxPoolNd):
    """The greatest value in each window of a plane.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output ``(N, C, H', W')`` with
    ``H' = floor((H + 2*padding - dilation*(kernel_size - 1) - 1) / stride + 1)``.

    Args:
        kernel_size: Height and width of the window, or one number for both.
        stride: Step of the window; the window's size when left out.
        padding: Border of minus infinity around the plane; at most half of the window.
        dilation: Distance between the window's elements.
        return_indices: Also return where the values were, for ``MaxUnpool2d``.
        ceil_mode: Round the output's size up.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.MaxPool2d(2)(flambeau.arange(16.0).reshape(1, 1, 4, 4))
        tensor([[[[ 5.,  7.],
                  [13., 15.]]]])
    """

    _operator = F.max_pool2d


class MaxPool3d(_MaxPoolNd):
    """The greatest value in each window of a volume; the arguments are those of ``MaxPool2d``.

    Shapes: input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; output ``(N, C, D', H', W')``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.MaxPool3d(2)(flambeau.arange(8.0).reshape(1, 2, 2, 2))
        tensor([[[[7.]]]])
    """

    _operator = F.max_pool3d


class _AvgPoolNd(Module):
    kernel_size: Size
    stride: Size
    padding: Size

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of a line.

    Shapes: input ``(N, C, L)`` or ``(C, L)``; output ``(N, C, L')`` with
    ``L' = floor((L + 2*padding - kernel_size) / stride + 1)``.

    Args:
        kernel_size: Length of the window.
        stride: Step of the window; the window's size when left out.
        padding: Zeros at both ends.
        ceil_mode: Round the output's size up.
        count_include_pad: Whether padding counts in the divisor.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.AvgPool1d(2)(flambeau.tensor([[1.0, 5.0, 2.0, 4.0]]))
        tensor([[3., 3.]])
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = spread(kernel_size, 1, "kernel_size")
        self.stride = self.kernel_size if stride is None else spread(stride, 1, "stride")
        self.padding = spread(padding, 1, "padding")
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input``."""
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class _AvgPoolWithDivisor(_AvgPoolNd):
    _operator: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
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
        return type(self)._operator(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolWithDivisor):
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

    _operator = F.avg_pool2d


class AvgPool3d(_AvgPoolWithDivisor):
    """The mean of each window of a volume; the arguments are those of ``AvgPool2d``.

    Shapes: input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; output ``(N, C, D', H', W')``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.AvgPool3d(2)(flambeau.arange(8.0).reshape(1, 2, 2, 2))
        tensor([[[[3.5000]]]])
    """

    _operator = F.avg_pool3d


class _LPPoolNd(Module):
    _operator: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        norm_type: float,
        kernel_size: Size,
        stride: Size | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input``."""
        return type(self)._operator(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The norm of each window of a line: ``(sum of x^p)^(1/p)``.

    Shapes: input ``(N, C, L)`` or ``(C, L)``; output ``(N, C, L')`` with
    ``L' = floor((L - kernel_size) / stride + 1)``.

    Args:
        norm_type: The exponent ``p``: 1 gives the sum.
        kernel_size: Length of the window.
        stride: Step of the window; the window's size when left out.
        ceil_mode: Round the output's size up.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.LPPool1d(2, 2)(flambeau.tensor([[3.0, 4.0]]))
        tensor([[5.]])
    """

    _operator = F.lp_pool1d


class LPPool2d(_LPPoolNd):
    """The norm of each window of a plane; the arguments are those of ``LPPool1d``.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output ``(N, C, H', W')``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.LPPool2d(2, (1, 2))(flambeau.tensor([[[3.0, 4.0]]]))
        tensor([[[5.]]])
    """

    _operator = F.lp_pool2d


class LPPool3d(_LPPoolNd):
    """The norm of each window of a volume; the arguments are those of ``LPPool1d``.

    Shapes: input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; output ``(N, C, D', H', W')``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.LPPool3d(1, 2)(flambeau.ones(1, 2, 2, 2))
        tensor([[[[8.]]]])
    """

    _operator = F.lp_pool3d
