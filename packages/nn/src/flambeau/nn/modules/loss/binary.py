"""Binary cross entropy: of probabilities, and of scores."""

from __future__ import annotations

from flambeau import Tensor

from ..._siblings import functional as F
from ._base import WeightedLoss


class BCELoss(WeightedLoss):
    """Mean of ``-(y * log(x) + (1 - y) * log(1 - x))``, logarithms at least -100.

    Shapes: input (probabilities) and target the same, any.

    Args:
        weight: Factor of every element.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: The shapes differ (when called).
        RuntimeError: A probability is outside of 0 to 1 (when called); where values cannot be
            looked at, inside transforms and on other devices, it gives ``nan``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.BCELoss()(flambeau.tensor([0.5]), flambeau.tensor([1.0]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(WeightedLoss):
    """``BCELoss`` of ``sigmoid(input)``, computed without leaving the logarithms.

    Shapes: input (scores) and target the same, any.

    Args:
        weight: Factor of every element.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        pos_weight: Factor of the positive term.

    Raises:
        ValueError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.BCEWithLogitsLoss()(flambeau.zeros(2), flambeau.ones(2))
        tensor(0.6931)
    """

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )
