"""``SequentialLR``: one schedule after another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer
from .plateau import ReduceLROnPlateau


class SequentialLR(LRScheduler):
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
        _check_schedulers(optimizer, schedulers, milestones)
        self.optimizer = optimizer
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        self._undo_first_epoch()
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._start()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:
        """Go on to the next epoch."""
        self.last_epoch += 1
        which = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[which]
        if which > 0 and self._milestones[which - 1] == self.last_epoch:
            schedule._restart()
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()

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

    def _undo_first_epoch(self) -> None:
        """Take back what the schedules did to the rates when they were made."""
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for schedule in self._schedulers:
            schedule.last_epoch -= 1


def _check_schedulers(
    optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int]
) -> None:
    if not schedulers:
        raise ValueError("SequentialLR needs at least one schedule")
    if len(milestones) != len(schedulers) - 1:
        raise ValueError(
            f"{len(schedulers)} schedules need {len(schedulers) - 1} milestones, not "
            f"{len(milestones)}"
        )
    for i, schedule in enumerate(schedulers):
        if isinstance(schedule, ReduceLROnPlateau):
            raise ValueError(
                f"schedulers[{i}] is a ReduceLROnPlateau, whose step() needs a metric; it cannot "
                "be part of a SequentialLR"
            )
        if isinstance(schedule, SequentialLR):
            raise ValueError(f"schedulers[{i}] is a SequentialLR; put its schedules here instead")
        if schedule.optimizer is not optimizer:
            raise ValueError(f"schedulers[{i}] belongs to another optimizer")
