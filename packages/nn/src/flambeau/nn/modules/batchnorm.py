"""``BatchNorm1d`` and ``BatchNorm2d``."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class _BatchNorm(Module):
    """What the batch norms share; they differ in the shapes they accept."""

    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        for name, learned in (("weight", affine), ("bias", affine and bias)):
            param = Parameter(flambeau.empty(num_features, **made)) if learned else None
            self.register_parameter(name, param)
        for name in ("running_mean", "running_var"):
            buffer = flambeau.empty(num_features, **made) if track_running_stats else None
            self.register_buffer(name, buffer)
        count = None
        if track_running_stats:
            count = flambeau.tensor(0, dtype=flambeau.int64, device=device)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Go back to scale 1, shift 0 and no statistics."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def reset_running_stats(self) -> None:
        """Forget the running mean and variance."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def forward(self, input: Tensor) -> Tensor:
        """Normalize each channel of ``input``."""
        self._check_input(input)
        momentum = self.momentum
        tracking = self.training and self.num_batches_tracked is not None
        if tracking:
            self.num_batches_tracked.add_(1)  # type: ignore[union-attr]
        if momentum is None:
            momentum = 1.0 / float(self.num_batches_tracked) if tracking else 0.0  # type: ignore[arg-type]
        by_batch = self.training or self.running_mean is None
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            by_batch,
            momentum,
            self.eps,
        )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _check_input(self, input: Tensor) -> None:
        raise NotImplementedError


class BatchNorm1d(_BatchNorm):
    """Normalizes every channel over the batch (and the length).

    ``y = (x - mean) / sqrt(var + eps) * weight + bias`` with mean and biased variance of the
    batch when training, and the running ones, averages with weight ``momentum`` for the newest
    batch, when evaluating.

    Shapes: input and output ``(N, C)`` or ``(N, C, L)``.

    Args:
        num_features: The number of channels ``C``.
        eps: Keeps the division away from zero.
        momentum: Weight of the newest batch; ``None`` for a plain average of all batches.
        affine: Whether to learn ``weight`` and ``bias``.
        bias: Whether to learn ``bias``.
        track_running_stats: Whether to keep running statistics.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: The input has another number of dimensions.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.BatchNorm1d(1)(flambeau.tensor([[1.0], [3.0]])).detach()
        tensor([[-1.0000],
                [ 1.0000]])
    """

    def _check_input(self, input: Tensor) -> None:
        if input.ndim not in (2, 3):
            raise ValueError(
                f"BatchNorm1d takes an input of shape (N, C) or (N, C, L), not {tuple(input.shape)}"
            )


class BatchNorm2d(_BatchNorm):
    """Normalizes every channel over the batch and the plane.

    The mathematics and the arguments are those of ``BatchNorm1d``.

    Shapes: input and output ``(N, C, H, W)``.

    Raises:
        ValueError: The input has another number of dimensions.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.BatchNorm2d(3)(flambeau.zeros(2, 3, 4, 4)).shape)
        (2, 3, 4, 4)
    """

    def _check_input(self, input: Tensor) -> None:
        if input.ndim != 4:
            raise ValueError(
                f"BatchNorm2d takes an input of shape (N, C, H, W), not {tuple(input.shape)}"
                + ("; add a batch dimension with input.unsqueeze(0)" if input.ndim == 3 else "")
            )
