"""Norms over parts of one sample: layer, group, root mean square, local response."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import flambeau
from flambeau import Tensor

from .._siblings import functional as F
from .._siblings import init
from ..parameter import Parameter
from ._sizes import check_integer
from .module import Module


class _Affine(Module):
    """A norm with a scale and perhaps a shift, which start as 1 and 0."""

    weight: Parameter | None
    bias: Parameter | None

    def _register(self, shape: Any, learned: dict[str, bool], made: dict[str, Any]) -> None:
        for name, wanted in learned.items():
            param = Parameter(flambeau.empty(shape, **made)) if wanted else None
            self.register_parameter(name, param)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Go back to scale 1 and shift 0."""
        for name, param in self._parameters.items():
            if param is not None:
                init.constant_(param, 1.0 if name == "weight" else 0.0)


class LayerNorm(_Affine):
    """Normalizes over the last dimensions of each sample.

    ``y = (x - mean) / sqrt(var + eps) * weight + bias`` with mean and biased variance over the
    last ``len(normalized_shape)`` dimensions.

    Shapes: input and output ``(*, *normalized_shape)``; weight and bias ``normalized_shape``.

    Args:
        normalized_shape: The sizes of the last dimensions, or one number.
        eps: Keeps the division away from zero.
        elementwise_affine: Whether to learn ``weight`` and ``bias``.
        bias: Whether to learn ``bias``.
        device: Where the parameters are made.
        dtype: Their dtype.

    Source: Ba, Kiros and Hinton, *Layer normalization* (2016).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.LayerNorm(2, bias=False)(flambeau.tensor([1.0, 3.0])).detach()
        tensor([-1.0000,  1.0000])
    """

    def __init__(
        self,
        normalized_shape: int | Iterable[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(self, normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        learned = {"weight": elementwise_affine, "bias": elementwise_affine and bias}
        self._register(self.normalized_shape, learned, {"device": device, "dtype": dtype})

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``input``."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Divides by the root mean square over the last dimensions of each sample.

    ``y = x / sqrt(mean(x^2) + eps) * weight``.

    Shapes: input and output ``(*, *normalized_shape)``; weight ``normalized_shape``.

    Args:
        normalized_shape: The sizes of the last dimensions, or one number.
        eps: Keeps the division away from zero; the machine epsilon of the input's dtype when
            left out.
        elementwise_affine: Whether to learn ``weight``.
        device: Where the parameter is made.
        dtype: Its dtype.

    Source: Zhang and Sennrich, *Root mean square layer normalization* (2019).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.RMSNorm(2)(flambeau.tensor([1.0, 7.0])).detach()
        tensor([0.2000, 1.4000])
    """

    def __init__(
        self,
        normalized_shape: int | Iterable[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(self, normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = {"device": device, "dtype": dtype}
        self._register(self.normalized_shape, {"weight": elementwise_affine}, made)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize ``x``."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(_Affine):
    """Normalizes groups of channels of each sample.

    ``y = (x - mean) / sqrt(var + eps) * weight + bias`` with mean and biased variance over the
    channels of a group and all their elements; weight and bias are by channel.

    Shapes: input and output ``(N, C, *)``.

    Args:
        num_groups: The number of groups; 1 is a layer norm, ``C`` an instance norm.
        num_channels: The number of channels ``C``.
        eps: Keeps the division away from zero.
        affine: Whether to learn ``weight`` and ``bias``.
        bias: Whether to learn ``bias``.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: ``num_groups`` does not divide ``num_channels``.

    Source: Wu and He, *Group normalization* (2018).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.GroupNorm(2, 4)(flambeau.tensor([[1.0, 3.0, 10.0, 30.0]])).detach()
        tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_integer(self, num_groups=num_groups, num_channels=num_channels)
        if num_groups <= 0 or num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        learned = {"weight": affine, "bias": affine and bias}
        self._register(num_channels, learned, {"device": device, "dtype": dtype})

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``input``."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class _ResponseNorm(Module):
    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_ResponseNorm):
    """Divides by a power of the mean square of neighbouring channels.

    ``y = x / (k + alpha/size * sum of x^2 over size channels around)^beta``; channels outside
    count as zero.

    Shapes: input and output ``(N, C, *)``.

    Args:
        size: The number of channels in the window.
        alpha: A factor.
        beta: The exponent.
        k: What is added.

    Source: Krizhevsky, Sutskever and Hinton, *ImageNet classification with deep convolutional
    neural networks* (2012).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.LocalResponseNorm(1, alpha=3.0, beta=0.5)(flambeau.ones(1, 2, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``input``."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_ResponseNorm):
    """``LocalResponseNorm`` of planes with a window of the same number of channels on both sides.

    ``y = x / (k + alpha/size * sum of x^2 over the channels c - h to c + h)^beta`` with
    ``h = floor((size - 1) / 2)``. PyTorch 2.13 keeps the first channel in the windows of all
    channels from ``h + 1`` on, and its gradient is not the derivative of its output; here both
    follow the formula.

    Shapes: input and output ``(N, C, H, W)``.

    Args:
        size: The number of channels in the window.
        alpha: A factor.
        beta: The exponent.
        k: What is added.

    Raises:
        ValueError: The input does not have four dimensions.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.CrossMapLRN2d(1, alpha=3.0, beta=0.5)(flambeau.ones(1, 2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``input``."""
        if input.ndim != 4:
            raise ValueError(
                f"CrossMapLRN2d takes an input of shape (N, C, H, W), not {tuple(input.shape)}"
            )
        window = 2 * ((self.size - 1) // 2) + 1
        return F.local_response_norm(
            input, window, self.alpha * window / self.size, self.beta, self.k
        )


def _as_shape(owner: Module, given: int | Iterable[int]) -> tuple[int, ...]:
    sizes = isinstance(given, Iterable) and not isinstance(given, str)
    shape: tuple[int, ...] = tuple(given) if sizes else (given,)  # type: ignore[arg-type,assignment]
    for size in shape:
        check_integer(owner, normalized_shape=size)
    return shape
