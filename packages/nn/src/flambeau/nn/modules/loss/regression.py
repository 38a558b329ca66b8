"""Losses of real numbers: how far two tensors of one shape are apart."""

from __future__ import annotations

from flambeau import Tensor

from ..._siblings import functional as F
from ._base import Loss


class MSELoss(Loss):
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


class L1Loss(Loss):
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


class SmoothL1Loss(Loss):
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


class HuberLoss(Loss):
    """Mean of ``d**2 / 2`` where ``d = abs(input - target) < delta``, else ``delta*(d - delta/2)``.

    Shapes: input and target the same, any.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: Where the parabola meets the line.

    Raises:
        TypeError: ``delta`` is no real number.
        ValueError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.HuberLoss()(flambeau.tensor([0.0, 3.0]), flambeau.tensor([1.0, 0.0]))
        tensor(1.5000)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, float | int):
            raise TypeError(f"HuberLoss(): delta must be a float or int, not {delta!r}")
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)
