"""Schedules that are functions of the epoch.

All but ``LambdaLR`` say by which factor the rate changes from one epoch to the next, so that
several of them on one optimizer multiply.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler

Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """The first rate times a function of the epoch.

    Args:
        optimizer: Whose learning rates are set.
        lr_lambda: The function, or one for every group.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Raises:
        ValueError: The number of functions is not that of the groups.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
        >>> optimizer.step()
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1
    ) -> None:
        groups = len(optimizer.param_groups)
        each = list(lr_lambda) if isinstance(lr_lambda, Sequence) else [lr_lambda] * groups
        if len(each) != groups:
            raise ValueError(f"{len(each)} functions for {groups} parameter groups")
        self.lr_lambdas = each
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this epoch."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [lr * function(self.last_epoch) for lr, function in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of functions only the attributes of callable objects."""
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if isinstance(function, FunctionType) else dict(function.__dict__)
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned; functions stay as they are."""
        state = dict(state_dict)
        for function, attributes in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)
        super().load_state_dict(state)


class _Multiplied(LRScheduler):
    """A schedule that multiplies the rates in force by ``_ratio()`` in every epoch."""

    def get_lr(self) -> list[float]:
        """The rates of this epoch."""
        ratio = self._ratio()
        return [lr * ratio for lr in self._rates()]

    def _rates_at_start(self) -> list[float]:
        return list(self.base_lrs)

    def _ratio(self) -> float:
        raise NotImplementedError


class StepLR(_Multiplied):
    """Multiplies the rate by ``gamma`` every ``step_size`` epochs.

    Args:
        optimizer: Whose learning rates are set.
        step_size: Epochs between two changes.
        gamma: The factor.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return self.gamma if due else 1.0


class MultiStepLR(_Multiplied):
    """Multiplies the rate by ``gamma`` at every milestone.

    Args:
        optimizer: Whose learning rates are set.
        milestones: The epochs of change.
        gamma: The factor.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        return float(self.gamma ** self.milestones[self.last_epoch])


class ExponentialLR(_Multiplied):
    """Multiplies the rate by ``gamma`` every epoch.

    Args:
        optimizer: Whose learning rates are set.
        gamma: The factor.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step()
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        return 1.0 if self._is_initial else self.gamma


class LinearLR(_Multiplied):
    """The first rate times a factor that changes linearly over ``total_iters`` epochs.

    Args:
        optimizer: Whose learning rates are set.
        start_factor: The factor of the first epoch.
        end_factor: The factor from epoch ``total_iters`` on.
        total_iters: How many epochs it takes.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Raises:
        ValueError: A factor is not between 0 and 1; the first must not be 0.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3.0,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"start_factor is greater than 0 and at most 1, not {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"end_factor is between 0 and 1, not {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        return self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)

    def _rates_at_start(self) -> list[float]:
        return [lr * self.start_factor for lr in self.base_lrs]

    def _factor(self, epoch: int) -> float:
        way = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * way


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate down to ``eta_min`` in ``T_max`` epochs, and up again.

    ``lr = eta_min + (first - eta_min) * (1 + cos(pi * epoch / T_max)) / 2``

    Args:
        optimizer: Whose learning rates are set.
        T_max: Epochs of half a period.
        eta_min: The least rate.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> optimizer.step()
        >>> schedule.step()
        >>> round(schedule.get_last_lr()[0], 6)
        0.5
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this epoch."""
        if self._is_initial:
            return self._rates()
        before = self._height(self.last_epoch - 1)
        if before < 1e-12:  # at the bottom the ratio to the last rate is 0 / 0
            return self._rising_again()
        ratio = self._height(self.last_epoch) / before
        return [self.eta_min + (lr - self.eta_min) * ratio for lr in self._rates()]

    def _height(self, epoch: int) -> float:
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def _rates_at_start(self) -> list[float]:
        return list(self.base_lrs)

    def _rising_again(self) -> list[float]:
        height = self._height(self.last_epoch)
        return [self.eta_min + (lr - self.eta_min) * height for lr in self.base_lrs]
