"""Averages of models over training, and the schedule that goes with them.

``AveragedModel`` is a module and needs flambeau-nn, which is imported when it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from flambeau import Tensor

from .lr_scheduler.base import LRScheduler, each_group, within_step
from .optimizer import Optimizer

if TYPE_CHECKING:
    from ._averaged import AveragedModel, update_bn

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def __getattr__(name: str) -> Any:
    if name in ("AveragedModel", "update_bn"):
        from . import _averaged

        return getattr(_averaged, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """A function that moves many averages in place: ``a = decay * a + (1 - decay) * p``.

    Args:
        decay: How much of an average is kept.

    Returns:
        The function, of the averages, the parameters and the number of models averaged.

    Raises:
        ValueError: ``decay`` is not between 0 and 1.

    Example:
        >>> import flambeau
        >>> from flambeau.optim.swa_utils import get_ema_multi_avg_fn
        >>> average = flambeau.tensor([0.0])
        >>> get_ema_multi_avg_fn(0.5)([average], [flambeau.tensor([1.0])], 1)
        >>> average
        tensor([0.5000])
    """
    _check_decay(decay)

    def ema_update(averages: Sequence[Tensor], params: Sequence[Tensor], _: Any) -> None:
        for average, param in zip(averages, params, strict=True):
            _move(average, param, 1.0 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """A function that moves many averages in place: ``a = a + (p - a) / (n + 1)``.

    Returns:
        The function, of the averages, the parameters and the number ``n`` of models averaged.
    """

    def swa_update(averages: Sequence[Tensor], params: Sequence[Tensor], n: Any) -> None:
        for average, param in zip(averages, params, strict=True):
            _move(average, param, 1.0 / (int(n) + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A function that returns ``decay * a + (1 - decay) * p``.

    Args:
        decay: How much of the average is kept.

    Returns:
        The function, of the average, the parameter and the number of models averaged.

    Raises:
        ValueError: ``decay`` is not between 0 and 1.

    Example:
        >>> import flambeau
        >>> from flambeau.optim.swa_utils import get_ema_avg_fn
        >>> get_ema_avg_fn(0.5)(flambeau.tensor([0.0]), flambeau.tensor([1.0]), 1)
        tensor([0.5000])
    """
    _check_decay(decay)

    def ema_update(average: Tensor, param: Tensor, _: Any) -> Tensor:
        return decay * average + (1.0 - decay) * param

    return ema_update


def get_swa_avg_fn() -> Average:
    """A function that returns ``a + (p - a) / (n + 1)``.

    Returns:
        The function, of the average, the parameter and the number ``n`` of models averaged.
    """

    def swa_update(average: Tensor, param: Tensor, n: Any) -> Tensor:
        return average + (param - average) / (n + 1)

    return swa_update


class SWALR(LRScheduler):
    """Moves the rate of every group to ``swa_lr`` and keeps it there (Izmailov et al., 2018).

    Args:
        optimizer: Whose learning rates are set.
        swa_lr: The last rate, or one for every group.
        anneal_epochs: How many epochs it takes.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Raises:
        ValueError: An option is out of range.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.swa_utils.SWALR(optimizer, 0.5, 2, anneal_strategy="linear")
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f'anneal_strategy is "cos" or "linear", not {anneal_strategy!r}')
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs is an integer of at least 0, not {anneal_epochs!r}")
        rates = each_group("swa_lr", swa_lr, optimizer)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs = anneal_epochs
        self._anneal_strategy = anneal_strategy
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates

    def _share(self, step: int) -> float:
        """How much of the last rate is in that of a step."""
        way = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return way if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * way)) / 2


def _check_decay(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"decay is between 0 and 1, not {decay}")


def _move(average: Tensor, param: Tensor, share: float) -> None:
    """Move an average towards a parameter, in place; rounded down where it holds integers."""
    average = average.detach()
    param = param.detach()
    if average.is_floating_point() or average.is_complex():
        average.lerp_(param.to(average.dtype), share)
    else:
        average.copy_(average * (1.0 - share) + param * share)
