"""Negative log likelihoods of distributions, and the divergence of two."""

from __future__ import annotations

from flambeau import Tensor

from ..._siblings import functional as F
from ._base import Loss


class PoissonNLLLoss(Loss):
    """Negative log likelihood of counts: mean of ``exp(input) - target * input``.

    With ``log_input=False`` it is ``input - target * log(input + eps)``.

    Shapes: input and target the same, any.

    Args:
        log_input: Whether the input is the logarithm of the expected count.
        full: Add Stirling's approximation of ``log(target!)`` where the target exceeds 1.
        size_average: Deprecated; use ``reduction``.
        eps: Keeps the logarithm finite.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.PoissonNLLLoss()(flambeau.zeros(2), flambeau.tensor([3.0, 5.0]))
        tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(Loss):
    """Negative log likelihood: mean of ``(log(var) + (input - target)**2 / var) / 2``.

    From Nix, Weigend 1994, "Estimating the mean and variance of the target".

    Shapes: input and target ``(N, *)``; var the same, or with a last dimension of size 1, or
    without it, or one number.

    Args:
        full: Add ``log(2 * pi) / 2``.
        eps: The least variance, whose gradient passes as if it were not there.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: A variance is negative, or shapes do not fit (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.GaussianNLLLoss()(flambeau.zeros(2), flambeau.tensor([1.0, 3.0]), flambeau.ones(2))
        tensor(2.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Compute the loss."""
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class KLDivLoss(Loss):
    """Kullback and Leibler's divergence: ``target * (log(target) - input)``.

    ``input`` holds log probabilities.

    Shapes: input and target the same, any.

    Args:
        size_average: Deprecated; use ``reduction``.
        reduce: Deprecated; use ``reduction``.
        reduction: ``"batchmean"`` (the sum over the size of the first dimension, which is the
            mean divergence), ``"sum"``, ``"none"``, or ``"mean"`` over all elements.
        log_target: Whether the target, too, holds log probabilities.

    Raises:
        ValueError: The shapes differ (when called).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> log_p = flambeau.tensor([[0.5, 0.5]]).log()
        >>> nn.KLDivLoss(reduction="batchmean")(log_p, flambeau.tensor([[1.0, 0.0]]))
        tensor(0.6931)
    """

    reductions: tuple[str, ...] = ("mean", "batchmean", "sum", "none")

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)
