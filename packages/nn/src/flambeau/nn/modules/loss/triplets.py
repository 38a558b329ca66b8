"""Losses of an anchor, something near it and something far from it."""

from __future__ import annotations

from collections.abc import Callable

from flambeau import Tensor

from ..._siblings import functional as F
from ..distance import PairwiseDistance
from ._base import Loss


class TripletMarginLoss(Loss):
    """Mean of ``max(0, d(anchor, positive) - d(anchor, negative) + margin)``.

    ``d(a, b)`` is the p-norm of ``a - b + eps`` (Balntas, Riba, Ponsa, Mikolajczyk 2016,
    "Learning local feature descriptors with triplets").

    Shapes: all three ``(N, D)`` or ``(D,)``.

    Args:
        margin: How much farther the negative has to be.
        p: The exponent of the norm.
        eps: Keeps the gradient finite where two points are the same.
        swap: Let the distance of positive and negative count where it is less.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: The margin is not positive, or shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> points = flambeau.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 2.0]])
        >>> nn.TripletMarginLoss()(points[0], points[1], points[2])
        tensor(4.0000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Compute the loss."""
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(Loss):
    """``TripletMarginLoss`` with a distance of your own.

    Shapes: all three ``(N, *)``, as far as the distance takes them.

    Args:
        distance_function: Takes two tensors, returns their distances; ``nn.PairwiseDistance()``
            when left out.
        margin: How much farther the negative has to be.
        swap: Let the distance of positive and negative count where it is less.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: The margin is not positive.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> def furthest(a, b):
        ...     return (a - b).abs().amax(-1)
        >>> points = flambeau.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 2.0]])
        >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=furthest)
        >>> loss(points[0], points[1], points[2])
        tensor(3.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        self.distance_function = distance_function or PairwiseDistance()
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Compute the loss."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


def _check_margin(loss: Loss, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"the margin of {type(loss).__name__} is greater than 0, not {margin}")
