"""Pooling whose windows follow from the output's size: adaptive and fractional."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from flambeau import Tensor

from .._siblings import functional as F
from ._sizes import Size, spread
from .module import Module

OutputSize = int | None | tuple[int | None, ...]


class _AdaptiveAvgPoolNd(Module):
    _operator: ClassVar[Callable[..., Tensor]]

    def __init__(self, output_size: OutputSize) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Pool ``input``."""
        return type(self)._operator(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of windows chosen so that the output has a given length.

    Window ``i`` of ``n`` goes from ``floor(i*L/n)`` to ``ceil((i + 1)*L/n)``.

    Shapes: input ``(N, C, L)`` or ``(C, L)``; output ``(N, C, output_size)``.

    Args:
        output_size: Length of the output.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.AdaptiveAvgPool1d(2)(flambeau.arange(5.0).reshape(1, 5))
        tensor([[1., 3.]])
    """

    _operator = F.adaptive_avg_pool1d


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of windows chosen so that the output has a given size.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output ``(N, C, *output_size)``.

    Args:
        output_size: Height and width of the output, or one number for both; ``None`` keeps the
            input's.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.AdaptiveAvgPool2d(1)(flambeau.arange(16.0).reshape(1, 1, 4, 4))
        tensor([[[[7.5000]]]])
    """

    _operator = F.adaptive_avg_pool2d


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of windows of a volume chosen so that the output has a given size.

    Shapes: input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; output ``(N, C, *output_size)``.

    Args:
        output_size: Depth, height and width of the output, or one number for all; ``None`` keeps
            the input's.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.AdaptiveAvgPool3d((2, None, 1))(flambeau.zeros(1, 8, 4, 4, 4)).shape)
        (1, 8, 2, 4, 1)
    """

    _operator = F.adaptive_avg_pool3d


class _AdaptiveMaxPoolNd(Module):
    _operator: ClassVar[Callable[..., Any]]

    def __init__(self, output_size: OutputSize, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """Pool ``input``."""
        return type(self)._operator(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The greatest value of windows chosen so that the output has a given length.

    Shapes: input ``(N, C, L)`` or ``(C, L)``; output ``(N, C, output_size)``.

    Args:
        output_size: Length of the output.
        return_indices: Also return where the values were.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.AdaptiveMaxPool1d(2)(flambeau.arange(5.0).reshape(1, 5))
        tensor([[2., 4.]])
    """

    _operator = F.adaptive_max_pool1d


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The greatest value of windows of a plane chosen so that the output has a given size.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output ``(N, C, *output_size)``.

    Args:
        output_size: Height and width of the output, or one number for both; ``None`` keeps the
            input's.
        return_indices: Also return where the values were.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.AdaptiveMaxPool2d(1)(flambeau.arange(16.0).reshape(1, 1, 4, 4))
        tensor([[[[15.]]]])
    """

    _operator = F.adaptive_max_pool2d


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The greatest value of windows of a volume chosen so that the output has a given size.

    The arguments are those of ``AdaptiveMaxPool2d``, with one number for all or three.

    Shapes: input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; output ``(N, C, *output_size)``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.AdaptiveMaxPool3d(1)(flambeau.arange(8.0).reshape(1, 2, 2, 2))
        tensor([[[[7.]]]])
    """

    _operator = F.adaptive_max_pool3d


class _FractionalMaxPoolNd(Module):
    _operator: ClassVar[Callable[..., Any]]
    _dims: ClassVar[int]
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Size,
        output_size: Size | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = spread(kernel_size, self._dims, "kernel_size")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        if (output_size is None) == (output_ratio is None):
            raise ValueError(
                f"{type(self).__name__} takes either output_size or output_ratio, not "
                f"{'neither' if output_size is None else 'both'}"
            )
        self.output_size = self.output_ratio = None
        if output_size is not None:
            self.output_size = spread(output_size, self._dims, "output_size")
        else:
            self.output_ratio = spread(output_ratio, self._dims, "output_ratio")
        self._check()

    def forward(self, input: Tensor) -> Any:
        """Pool ``input`` with windows drawn anew, or with those given to the constructor."""
        return type(self)._operator(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )

    def _check(self) -> None:
        if any(size <= 0 for size in self.kernel_size):
            raise ValueError(f"kernel_size is positive, not {self.kernel_size}")
        if self.output_ratio and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio lies between 0 and 1, not {self.output_ratio}")


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The greatest value of windows whose positions are drawn at random, about evenly spread.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output ``(N, C, *output_size)`` or
    ``(N, C, floor(H*ratio), floor(W*ratio))``.

    Args:
        kernel_size: Height and width of the windows, or one number for both.
        output_size: Height and width of the output, or one number for both.
        output_ratio: The output's size as a part of the input's, between 0 and 1, instead.
        return_indices: Also return where the values were, for ``MaxUnpool2d``.

    Raises:
        ValueError: Neither or both of ``output_size`` and ``output_ratio`` are given, or the
            ratio does not lie between 0 and 1.

    Source: Graham, *Fractional max-pooling* (2014).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.FractionalMaxPool2d(3, output_ratio=0.5)(flambeau.zeros(2, 4, 9, 9)).shape)
        (2, 4, 4, 4)
    """

    _operator = F.fractional_max_pool2d
    _dims = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The greatest value of windows of a volume whose positions are drawn at random.

    The arguments are those of ``FractionalMaxPool2d``, with one number for all dimensions or
    three.

    Shapes: input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; output ``(N, C, *output_size)``.

    Raises:
        ValueError: Neither or both of ``output_size`` and ``output_ratio`` are given, or the
            ratio does not lie between 0 and 1.

    Source: Graham, *Fractional max-pooling* (2014).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.FractionalMaxPool3d(2, output_size=3)(flambeau.zeros(1, 4, 7, 7, 7)).shape)
        (1, 4, 3, 3, 3)
    """

    _operator = F.fractional_max_pool3d
    _dims = 3
