"""Losses of scores where several classes may be right."""

from __future__ import annotations

from flambeau import Tensor

from ..._siblings import functional as F
from ._base import Loss, WeightedLoss


class MultiLabelMarginLoss(Loss):
    """Sum of ``max(0, 1 - x[t] + x[j]) / C`` over right classes ``t`` and all others ``j``.

    Shapes: input ``(N, C)`` or ``(C,)``; target of the same shape: the right classes, then -1
    (what follows the first -1 is ignored).

    Args:
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        RuntimeError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> scores = flambeau.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> nn.MultiLabelMarginLoss()(scores, flambeau.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(WeightedLoss):
    """Binary cross entropy of scores, the mean over the classes.

    ``-mean over c of weight[c] * (y[c] * log(s[c]) + (1 - y[c]) * log(1 - s[c]))`` with
    ``s = sigmoid(x)``.

    Shapes: input and target ``(N, C)``, the target 0 or 1.

    Args:
        weight: A factor for every class.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.MultiLabelSoftMarginLoss()(flambeau.zeros(2, 3), flambeau.ones(2, 3))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class SoftMarginLoss(Loss):
    """Mean of ``log(1 + exp(-target * input))``, targets being 1 or -1.

    Shapes: input and target the same, any.

    Args:
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.SoftMarginLoss()(flambeau.zeros(2), flambeau.tensor([1.0, -1.0]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)
