"""Schedules along half a cosine: once, or with restarts."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, rates_of, within_step


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

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        if self._is_initial:
            return rates_of(self.optimizer)
        before = self._height(self.last_epoch - 1)
        rates = rates_of(self.optimizer)
        height = self._height(self.last_epoch)
        if before < 1e-12:  # at the bottom the ratio to the last rate is 0 / 0
            rises = [(base - self.eta_min) * height for base in self.base_lrs]
            return [lr + rise for lr, rise in zip(rates, rises, strict=True)]
        return [self.eta_min + (lr - self.eta_min) * (height / before) for lr in rates]

    def _height(self, epoch: float) -> float:
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def _get_closed_form_lr(self) -> list[Any]:
        height = self._height(self.last_epoch)
        return [self.eta_min + (lr - self.eta_min) * height for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the first rate down to ``eta_min``, then from the first rate again.

    ``lr = eta_min + (first - eta_min) * (1 + cos(pi * T_cur / T_i)) / 2`` (Loshchilov and Hutter,
    SGDR, 2017), where ``T_cur`` epochs of ``T_i`` are over since the last restart.

    Args:
        optimizer: Whose learning rates are set.
        T_0: Epochs until the first restart.
        T_mult: By which factor every period is longer than the last.
        eta_min: The least rate.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Raises:
        ValueError: ``T_0`` or ``T_mult`` is not a positive integer.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> [round(rate, 6) for rate in rates]
        [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is a positive integer, not {value!r}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"eta_min is a number, not {type(eta_min).__name__}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * height for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to any other, e.g. ``epoch + batch / batches``.

        Args:
            epoch: Where to go; whole epochs and parts of one.

        Raises:
            ValueError: ``epoch`` is negative.
        """
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch: float | None = None) -> None:
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            self._go_on()
            epoch = self.last_epoch + 1
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_rates(self._ask(self.get_lr))

    def _go_on(self) -> None:
        self.T_cur += 1
        if self.T_cur >= self.T_i:
            self.T_cur %= self.T_i
            self.T_i *= self.T_mult

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"epoch is at least 0, not {epoch}")
        if self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
            return
        restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        begin = self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
        self.T_i, self.T_cur = self.T_0 * self.T_mult**restarts, epoch - begin
