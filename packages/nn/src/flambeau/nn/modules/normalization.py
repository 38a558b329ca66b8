"""``LayerNorm``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import flambeau
from flambeau import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class LayerNorm(Module):
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

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.LayerNorm(2, bias=False)(flambeau.tensor([1.0, 3.0])).detach()
        tensor([-1.0000,  1.0000])
    """

    weight: Parameter | None
    bias: Parameter | None

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
        if not isinstance(normalized_shape, Iterable):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, learned in (
            ("weight", elementwise_affine),
            ("bias", elementwise_affine and bias),
        ):
            self.register_parameter(name, self._make(device, dtype) if learned else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Go back to scale 1 and shift 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Normalize ``input``."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )

    def _make(self, device: Any, dtype: Any) -> Parameter:
        return Parameter(flambeau.empty(self.normalized_shape, device=device, dtype=dtype))
