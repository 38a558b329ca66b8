"""What losses share."""

from __future__ import annotations

from flambeau import Tensor

from .._reduction import resolve_reduction
from ..module import Module


class Loss(Module):
    """A loss with a way to reduce: ``"mean"``, ``"sum"`` or ``"none"``.

    ``size_average`` and ``reduce`` are what PyTorch's first versions had in its place.
    """

    reductions: tuple[str, ...] = ("mean", "sum", "none")

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.reduction = resolve_reduction(size_average, reduce, reduction, self.reductions)


class WeightedLoss(Loss):
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
