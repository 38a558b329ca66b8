"""Losses as modules: each is a function of ``functional`` with its options."""

from __future__ import annotations

from flambeau import Tensor

from .. import functional as F
from ._reduction import resolve_reduction
from .module import Module


class _Loss(Module):
    """A loss with a way to reduce: ``"mean"``, ``"sum"`` or ``"none"``.

    ``size_average`` and ``reduce`` are what PyTorch's first versions had in its place.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.reduction = resolve_reduction(size_average, reduce, reduction)


class MSELoss(_Loss):
    """Mean of ``(input - target)**2``.

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
        >>> nn.MSELoss()(flambeau.tensor([1.0, 3.0]), flambeau.tensor([1.0, 1.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """Mean of ``abs(input - target)``.

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
        >>> nn.L1Loss()(flambeau.tensor([1.0, 3.0]), flambeau.tensor([1.0, 1.0]))
        tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Mean of ``d**2 / (2 * beta)`` where ``d = abs(input - target) < beta``, else ``d - beta/2``.

    Shapes: input and target the same, any.

    Args:
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        beta: Where the parabola meets the line.

    Raises:
        ValueError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.SmoothL1Loss()(flambeau.tensor([0.0, 3.0]), flambeau.tensor([1.0, 0.0]))
        tensor(1.5000)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Mean of ``d**2 / 2`` where ``d = abs(input - target) < delta``, else ``delta*(d - delta/2)``.

    Shapes: input and target the same, any.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: Where the parabola meets the line.

    Raises:
        ValueError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.HuberLoss()(flambeau.tensor([0.0, 3.0]), flambeau.tensor([1.0, 0.0]))
        tensor(1.5000)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class _Weighted(_Loss):
    """A loss with a tensor of weights among its state."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class BCELoss(_Weighted):
    """Mean of ``-(y * log(x) + (1 - y) * log(1 - x))``, logarithms at least -100.

    Shapes: input (probabilities) and target the same, any.

    Args:
        weight: Factor of every element.
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.BCELoss()(flambeau.tensor([0.5]), flambeau.tensor([1.0]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Weighted):
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


class NLLLoss(_Weighted):
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


class CrossEntropyLoss(_Weighted):
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
