"""``LinearCrossEntropyLoss``: a last layer and its loss in one."""

from __future__ import annotations

import math
from typing import Any

from flambeau import Tensor

from ..._linear_cross_entropy import LinearCrossEntropyOptions
from ..._siblings import functional as F
from ..linear import Linear
from ._base import WeightedLoss


class LinearCrossEntropyLoss(WeightedLoss):
    """``CrossEntropyLoss`` of a linear map of the input, whose scores need not exist all at once.

    Shapes: input ``(N, in_features)`` or ``(in_features,)``; target class numbers ``(N,)``,
    ``()`` or ``(N, *out_features)``, or probabilities ``(N, C)``, ``(C,)`` or
    ``(N, C, *out_features)``; ``linear.weight`` ``(C * prod(out_features), in_features)``.

    Args:
        in_features: Size of the input.
        num_classes: How many classes there are.
        out_features: The positions at which there is a loss each.
        bias: Whether the linear map has one.
        device: Where the linear map is made.
        dtype: Its dtype.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        weight: A factor for every class.
        ignore_index: A target that does not count; -100 when left out.
        label_smoothing: The part of the target that is spread over all classes.
        options: Compute in pieces of the batch.

    Raises:
        RuntimeError: ``weight`` has another shape than ``(num_classes,)``, or
            ``label_smoothing`` is not between 0 and 1.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> loss = nn.LinearCrossEntropyLoss(8, 1000, options=nn.LinearCrossEntropyOptions())
        >>> loss(flambeau.zeros(4, 8), flambeau.tensor([1, 7, 3, 999])).detach()
        tensor(6.9078)
    """

    linear: Linear

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"weight has shape {(num_classes,)}, a number for every class, not "
                f"{tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"label_smoothing is between 0 and 1, not {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
