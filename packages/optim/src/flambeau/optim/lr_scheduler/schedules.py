"""Schedules that multiply the rate by a factor of their own in some epochs.

They say by which factor the rate changes from one epoch to the next, so that several of them on
one optimizer multiply.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from numbers import Real
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, rates_of, within_step


class _Multiplied(LRScheduler):
    """A schedule that multiplies the rates in force by ``_ratio()`` in every epoch."""

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        ratio = self._ratio()
        return [lr * ratio for lr in rates_of(self.optimizer)]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self._factor(self.last_epoch)
        return [lr * factor for lr in self.base_lrs]

    def _ratio(self) -> float:
        """The rate of this epoch over that of the last one."""
        raise NotImplementedError

    def _factor(self, epoch: float) -> float:
        """The rate of an epoch over the first one."""
        raise NotImplementedError


class StepLR(_Multiplied):
    """Multiplies the rate by ``gamma`` every ``step_size`` epochs.

    Args:
        optimizer: Whose learning rates are set.
        step_size: Epochs between two changes.
        gamma: The factor.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Raises:
        ValueError: ``step_size`` is not an integer of at least 1.

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

    step_size: int
    gamma: float

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if not isinstance(step_size, Real) or step_size != step_size // 1 or step_size < 1:
            raise ValueError(f"step_size is an integer of at least 1, not {step_size!r}")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return self.gamma if due else 1.0

    def _factor(self, epoch: float) -> float:
        return self.gamma ** (epoch // self.step_size)


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

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state; files give the milestones back as a plain dict."""
        super().load_state_dict(state_dict)
        self.milestones = Counter(self.milestones)

    def _factor(self, epoch: float) -> float:
        return float(self.gamma ** bisect_right(sorted(self.milestones.elements()), epoch))


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

    def _factor(self, epoch: float) -> float:
        return self.gamma**epoch


class ConstantLR(_Multiplied):
    """The first rate times a constant factor until epoch ``total_iters``.

    Args:
        optimizer: Whose learning rates are set.
        factor: The factor.
        total_iters: The epoch from which the rate is the first one again.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Raises:
        ValueError: ``factor`` is not between 0 and 1.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"factor is between 0 and 1, not {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        if self.factor == 0 and self.last_epoch == self.total_iters:
            return list(self.base_lrs)
        return super().get_lr()

    def _ratio(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1.0

    def _factor(self, epoch: float) -> float:
        return 1.0 if epoch >= self.total_iters else self.factor


class PolynomialLR(_Multiplied):
    """The first rate times ``(1 - epoch / total_iters)**power``, until it is 0.

    Args:
        optimizer: Whose learning rates are set.
        total_iters: How many epochs it takes.
        power: The power.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.lr_scheduler.PolynomialLR(optimizer, total_iters=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 0.5, 0.0, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        now, before = (1.0 - e / self.total_iters for e in (self.last_epoch, self.last_epoch - 1))
        return (now / before) ** self.power

    def _factor(self, epoch: float) -> float:
        return (1.0 - min(self.total_iters, epoch) / self.total_iters) ** self.power


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

    def _factor(self, epoch: float) -> float:
        way = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * way
