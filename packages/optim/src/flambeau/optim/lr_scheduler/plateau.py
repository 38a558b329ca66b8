"""``ReduceLROnPlateau``: lower the rate when a metric no longer improves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, each_group, rates_of, set_option


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by ``factor`` after ``patience`` epochs without improvement.

    Args:
        optimizer: Whose learning rates are set.
        mode: ``"min"`` if a lower metric is better, ``"max"`` if a higher one is.
        factor: The factor, less than one.
        patience: Epochs without improvement that are forgiven.
        threshold: The least change that counts as improvement.
        threshold_mode: ``"rel"`` measures it relative to the best metric, ``"abs"`` as it is.
        cooldown: Epochs after a reduction in which nothing is counted.
        min_lr: The least rate, or one for every group.
        eps: A reduction smaller than this is not made.

    Raises:
        ValueError: ``factor`` is not less than one, or a mode is not known.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        >>> schedule.step(2.0)
        >>> schedule.step(2.0)
        >>> schedule.get_last_lr()
        [0.1]
    """

    best: float
    cooldown_counter: int
    num_bad_epochs: int

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        check_optimizer(optimizer)
        _check_options(factor, mode, threshold_mode)
        self.optimizer = optimizer
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = each_group("min_lr", min_lr, optimizer)
        self.eps = eps
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = rates_of(optimizer)
        self._reset()

    @property
    def in_cooldown(self) -> bool:
        """Whether a reduction was made so recently that epochs are not counted."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of an epoch's metric.

        Args:
            metrics: A number or a tensor with one element.
            epoch: Deprecated: the epoch, where it is not the next one.
        """
        metric = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(metric):
            self.best = metric
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = rates_of(self.optimizer)

    def _is_better(self, metric: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "abs":
            return sign * metric < sign * self.best - self.threshold
        return sign * metric < sign * self.best * (1 - sign * self.threshold)

    def _reset(self) -> None:
        """Forget all metrics."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(self.min_lrs) != len(groups):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"the optimizer now has {len(groups)} parameter groups, but there are "
                    f"{len(self.min_lrs)} least rates: set schedule.min_lrs"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_option(group, "lr", new)


def _check_options(factor: float, mode: str, threshold_mode: str) -> None:
    if factor >= 1.0:
        raise ValueError(f"factor is less than 1, not {factor}")
    if mode not in ("min", "max"):
        raise ValueError(f'mode is "min" or "max", not {mode!r}')
    if threshold_mode not in ("rel", "abs"):
        raise ValueError(f'threshold_mode is "rel" or "abs", not {threshold_mode!r}')
