"""Losses of scores or log probabilities of classes, one class being right."""

from __future__ import annotations

from flambeau import Tensor

from ..._siblings import functional as F
from ._base import WeightedLoss


class NLLLoss(WeightedLoss):
    """Mean of ``-weight[target] * input[target]`` over rows of log probabilities.

    Shapes: input ``(N, C)``, ``(C,)`` or ``(N, C, d1, ...)``; target class numbers ``(N,)``,
    ``()`` or ``(N, d1, ...)``.

    Args:
        weight: A factor for every class.
        ignore_index: A target that does not count.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"`` (divides by the sum of the weights), ``"sum"`` or ``"none"``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.NLLLoss()(flambeau.tensor([[-1.0, -2.0]]), flambeau.tensor([1]))
        tensor(2.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.nll_loss(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(WeightedLoss):
    """``NLLLoss`` of ``log_softmax(input)``: the usual loss of a classifier's scores.

    With target class ``t``: ``-log(exp(x[t]) / sum over c of exp(x[c]))``.

    Shapes: input ``(N, C)``, ``(C,)`` or ``(N, C, d1, ...)``; target class numbers ``(N,)``,
    ``()`` or ``(N, d1, ...)``, or probabilities in the shape of the input.

    Args:
        weight: A factor for every class.
        ignore_index: A target that does not count.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        label_smoothing: The part of the target that is spread over all classes.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.CrossEntropyLoss()(flambeau.zeros(3, 10), flambeau.tensor([1, 5, 9]))
        tensor(2.3026)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class MultiMarginLoss(WeightedLoss):
    """Mean over the classes ``j != t`` of ``max(0, margin - x[t] + x[j])**p``.

    The sum over the other classes is divided by the number of all classes; with a weight each
    term is multiplied by ``weight[t]``.

    Shapes: input ``(N, C)`` or ``(C,)``; target class numbers ``(N,)`` or ``()``.

    Args:
        p: 1 or 2.
        margin: How far the right class has to be ahead.
        weight: A factor for every class.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: ``p`` is neither 1 nor 2, or ``weight`` has more than one dimension.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> scores = flambeau.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> nn.MultiMarginLoss()(scores, flambeau.tensor([3]))
        tensor(0.3250)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss takes p=1 or p=2, not {p}")
        if weight is not None and weight.ndim != 1:
            raise ValueError(
                "the weight of MultiMarginLoss has one dimension, a number for every class, not "
                f"shape {tuple(weight.shape)}"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )
