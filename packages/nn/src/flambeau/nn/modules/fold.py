"""Windows of planes as columns, and back: ``Unfold`` and ``Fold``."""

from __future__ import annotations

from flambeau import Tensor

from .._siblings import functional as F
from ._sizes import Size
from .module import Module


class Fold(Module):
    """Adds up windows, given as columns, to planes: the adjoint of ``Unfold``.

    Where windows overlap, their values are summed.

    Shapes: input ``(N, C * window size, windows)`` or without ``N``; output
    ``(N, C, *output_size)``.

    Args:
        output_size: Height and width of the planes, or one number for both.
        kernel_size: Height and width of the window.
        dilation: Distance between the window's elements.
        padding: Zeros that ``Unfold`` put around the planes.
        stride: Step of the window.

    Raises:
        RuntimeError: At the call, where the windows do not fit the planes.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Fold((1, 3), (1, 2))(flambeau.ones(2, 2))
        tensor([[[1., 2., 1.]]])
    """

    def __init__(
        self,
        output_size: Size,
        kernel_size: Size,
        dilation: Size = 1,
        padding: Size = 0,
        stride: Size = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Add up the windows in ``input``."""
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """Gives every window of a plane as a column.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output
    ``(N, C * window size, windows)``.

    Args:
        kernel_size: Height and width of the window, or one number for both.
        dilation: Distance between the window's elements.
        padding: Zeros around the plane.
        stride: Step of the window.

    Raises:
        RuntimeError: At the call, where no window fits.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.Unfold((1, 2))(flambeau.arange(3.0).reshape(1, 1, 3))
        tensor([[0., 1.],
                [1., 2.]])
    """

    def __init__(
        self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """Take the windows of ``input``."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )
