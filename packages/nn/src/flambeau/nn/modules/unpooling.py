"""Undoing max pooling: values back to the positions they were found at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from flambeau import Tensor

from .._siblings import functional as F
from ._sizes import Size, spread
from .module import Module


class _MaxUnpoolNd(Module):
    _operator: ClassVar[Callable[..., Tensor]]
    _dims: ClassVar[int]

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        self.kernel_size = spread(kernel_size, self._dims, "kernel_size")
        self.stride = self.kernel_size if stride is None else spread(stride, self._dims, "stride")
        self.padding = spread(padding, self._dims, "padding")

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        """Put the values of ``input`` where ``indices`` says, and zeros elsewhere.

        Args:
            input: What max pooling gave.
            indices: Where the values were, as max pooling says with ``return_indices=True``.
            output_size: The size before pooling, where several lead to that of ``input``.

        Raises:
            ValueError: Pooling does not lead from ``output_size`` to the input's size.
            RuntimeError: An index lies outside the output.
        """
        return type(self)._operator(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Undoes ``MaxPool1d`` as far as it can: values go back, what was lost becomes zero.

    Shapes: input and indices ``(N, C, L)`` or ``(C, L)``; output ``(N, C, L')`` with
    ``L' = (L - 1)*stride - 2*padding + kernel_size``, or the size given in the call.

    Args:
        kernel_size: Length of the window of the pooling.
        stride: Its step; the window's size when left out.
        padding: The pooling's padding.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> pool = nn.MaxPool1d(2, return_indices=True)
        >>> values, indices = pool(flambeau.tensor([[1.0, 5.0, 2.0, 4.0]]))
        >>> nn.MaxUnpool1d(2)(values, indices)
        tensor([[0., 5., 0., 4.]])
    """

    _operator = F.max_unpool1d
    _dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Undoes ``MaxPool2d`` as far as it can; the arguments are those of ``MaxUnpool1d``.

    Shapes: input and indices ``(N, C, H, W)`` or ``(C, H, W)``; output ``(N, C, H', W')``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> pool = nn.MaxPool2d(2, return_indices=True)
        >>> nn.MaxUnpool2d(2)(*pool(flambeau.tensor([[[1.0, 5.0], [2.0, 4.0]]])))
        tensor([[[0., 5.],
                 [0., 0.]]])
    """

    _operator = F.max_unpool2d
    _dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Undoes ``MaxPool3d`` as far as it can; the arguments are those of ``MaxUnpool1d``.

    Shapes: input and indices ``(N, C, D, H, W)`` or ``(C, D, H, W)``; output
    ``(N, C, D', H', W')``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> pool = nn.MaxPool3d(2, return_indices=True)
        >>> tuple(nn.MaxUnpool3d(2)(*pool(flambeau.zeros(1, 1, 4, 4, 4))).shape)
        (1, 1, 4, 4, 4)
    """

    _operator = F.max_unpool3d
    _dims = 3
