"""Losses that compare two inputs, the target saying whether they belong together."""

from __future__ import annotations

from flambeau import Tensor

from ..._siblings import functional as F
from ._base import Loss


class _Margin(Loss):
    """A loss with a margin."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class MarginRankingLoss(_Margin):
    """Mean of ``max(0, -target * (input1 - input2) + margin)``.

    Target 1: the first input should be greater; -1: the second.

    Shapes: inputs and target the same, any.

    Args:
        margin: How much greater.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> one, two = flambeau.tensor([1.0, 2.0]), flambeau.tensor([3.0, 0.0])
        >>> nn.MarginRankingLoss()(one, two, flambeau.tensor([1.0, 1.0]))
        tensor(1.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(_Margin):
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Shapes: inputs ``(N, D)`` and target ``(N,)``, or ``(D,)`` and ``()``.

    Args:
        margin: What cosine is small enough, from -1 to 1.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        RuntimeError: The number of dimensions does not fit (when called).
        ValueError: The shapes do not (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> one, two = flambeau.tensor([[1.0, 0.0]]), flambeau.tensor([[0.0, 2.0]])
        >>> nn.CosineEmbeddingLoss()(one, two, flambeau.tensor([1]))
        tensor(1.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class HingeEmbeddingLoss(_Margin):
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1.

    The input is a distance.

    Shapes: input and target the same, any.

    Args:
        margin: What distance is great enough.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.HingeEmbeddingLoss()(flambeau.tensor([3.0, 0.5]), flambeau.tensor([1.0, -1.0]))
        tensor(1.7500)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)
