"""Schedules made of others: one after another, or several at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, rates_of, set_option
from .plateau import ReduceLROnPlateau


class _Combined(LRScheduler):
    """A schedule made of others."""

    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, with the states of the schedules."""
        state = super().state_dict()
        state["_schedulers"] = [schedule.state_dict() for schedule in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` returned."""
        state = dict(state_dict)
        for schedule, inner in zip(self._schedulers, state.pop("_schedulers"), strict=True):
            schedule.load_state_dict(inner)
        super().load_state_dict(state)


class SequentialLR(_Combined):
    """Follows one schedule until a milestone, then the next, each from its own beginning.

    Args:
        optimizer: Whose learning rates are set.
        schedulers: The schedules, all of this optimizer.
        milestones: The epochs at which the next one takes over: one fewer than schedules.

    Raises:
        ValueError: The numbers do not fit, or a schedule belongs to another optimizer or needs
            a metric.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> from flambeau.optim.lr_scheduler import ExponentialLR, LinearLR, SequentialLR
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> warm_up = LinearLR(optimizer, start_factor=0.5, total_iters=1)
        >>> decay = ExponentialLR(optimizer, gamma=0.5)
        >>> schedule = SequentialLR(optimizer, [warm_up, decay], milestones=[2])
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [0.5, 1.0, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        _check_parts(type(self).__name__, schedulers, optimizer)
        _check_milestones(schedulers, milestones)
        self.optimizer = optimizer
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        self._undo_first_epoch()
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch."""
        self.last_epoch += 1
        which = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[which]
        if which > 0 and self._milestones[which - 1] == self.last_epoch:
            schedule._update_lr(0)
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()

    def _undo_first_epoch(self) -> None:
        """Take back what the schedules did to the rates when they were made."""
        for group in self.optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        self.recursive_undo()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Take back an epoch of ``sched``, or of the schedules it is made of."""
        schedule = self if sched is None else sched
        parts = getattr(schedule, "_schedulers", None)
        if parts is None:
            schedule.last_epoch -= 1
            return
        for part in parts:
            self.recursive_undo(part)


class ChainedScheduler(_Combined):
    """Takes a step of several schedules at a time; what they do to the rates multiplies.

    Args:
        schedulers: The schedules, all of one optimizer.
        optimizer: That optimizer; that of the first schedule if left out.

    Raises:
        ValueError: There is no schedule, or one belongs to another optimizer or needs a metric.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> from flambeau.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> warm_up = ConstantLR(optimizer, factor=0.5, total_iters=1)
        >>> schedule = ChainedScheduler([warm_up, ExponentialLR(optimizer, gamma=0.5)])
        >>> rates = []
        >>> for epoch in range(3):
        ...     rates += schedule.get_last_lr()
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [0.5, 0.5, 0.25]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        _check_parts(type(self).__name__, schedulers, optimizer)
        self._schedulers = list(schedulers)
        self.optimizer = self._schedulers[0].optimizer
        self._last_lr = rates_of(self.optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Take a step of every schedule."""
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = rates_of(self.optimizer)


def _check_milestones(schedulers: Sequence[LRScheduler], milestones: Sequence[int]) -> None:
    if len(milestones) != len(schedulers) - 1:
        raise ValueError(
            f"{len(schedulers)} schedules need {len(schedulers) - 1} milestones, not "
            f"{len(milestones)}"
        )


def _check_parts(kind: str, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> None:
    if not schedulers:
        raise ValueError(f"{kind} needs at least one schedule")
    for i, schedule in enumerate(schedulers):
        if not hasattr(schedule, "optimizer"):
            raise TypeError(f"schedulers[{i}] is no schedule but {type(schedule).__name__}")
        if isinstance(schedule, ReduceLROnPlateau):
            raise ValueError(
                f"schedulers[{i}] is a ReduceLROnPlateau, whose step() needs a metric; it cannot "
                f"be part of a {kind}"
            )
        optimizer = schedule.optimizer if optimizer is None else optimizer
        if schedule.optimizer is not optimizer:
            raise ValueError(f"schedulers[{i}] belongs to another optimizer")
