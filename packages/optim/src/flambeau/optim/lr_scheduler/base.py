"""``LRScheduler``: what all schedules share."""

from __future__ import annotations

import warnings
from typing import Any

from ..optimizer import Optimizer


class LRScheduler:
    """Sets the learning rate of every parameter group when an epoch is over.

    A subclass defines ``get_lr``, which returns the rates of epoch ``self.last_epoch``, one for
    each group. The rates in force are in the groups' ``"lr"``, the first ones in
    ``self.base_lrs``. Several schedules may act on one optimizer.

    Args:
        optimizer: Whose learning rates are set.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Raises:
        TypeError: ``optimizer`` is not an ``Optimizer``.
        KeyError: A resumed optimizer's groups do not know their first rates.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> class Halving(optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [lr * 0.5**self.last_epoch for lr in self.base_lrs]
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = Halving(optimizer)
        >>> optimizer.step()
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    optimizer: Optimizer
    base_lrs: list[float]
    last_epoch: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.base_lrs = _first_rates(optimizer, last_epoch)
        self.last_epoch = last_epoch
        self._start()

    def get_lr(self) -> list[float]:
        """The rates of epoch ``self.last_epoch``, one for each group."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr(self)")

    def get_last_lr(self) -> list[float]:
        """The rates that the last ``step`` set."""
        return self._last_lr

    def step(self) -> None:
        """Go on to the next epoch; call it after ``optimizer.step()``."""
        if self._step_count == 1 and _has_not_stepped(self.optimizer):
            warnings.warn(
                "lr_scheduler.step() was called before optimizer.step(): the first learning rate "
                "of the schedule is skipped. Call optimizer.step() first",
                stacklevel=2,
            )
        self._step_count += 1
        self.last_epoch += 1
        self._set_rates(self.get_lr())

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` of a schedule of the same kind returned."""
        self.__dict__.update(state_dict)

    def _start(self) -> None:
        """Enter the first epoch."""
        self._step_count = 1
        self.last_epoch += 1
        self._is_initial = True
        self._set_rates(self.get_lr())
        self._is_initial = False

    def _restart(self) -> None:
        """Begin anew at epoch 0, as if the rates had never been changed."""
        self.last_epoch = 0
        self._set_rates(self._rates_at_start())

    def _rates_at_start(self) -> list[float]:
        return self.get_lr()

    def _rates(self) -> list[float]:
        """The rates in force."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def _set_rates(self, rates: list[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = list(rates)


def check_optimizer(optimizer: object) -> None:
    """Refuse what is not an optimizer.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"a schedule takes an Optimizer, not {type(optimizer).__name__}")


def _first_rates(optimizer: Optimizer, last_epoch: int) -> list[float]:
    """The rates training began with, which the groups remember."""
    for i, group in enumerate(optimizer.param_groups):
        if last_epoch == -1:
            group.setdefault("initial_lr", group["lr"])
        elif "initial_lr" not in group:
            raise KeyError(
                f"param_groups[{i}] has no 'initial_lr', which resuming with last_epoch="
                f"{last_epoch} needs: load the optimizer's state_dict first, or begin with "
                "last_epoch=-1"
            )
    return [group["initial_lr"] for group in optimizer.param_groups]


def _has_not_stepped(optimizer: Optimizer) -> bool:
    """Known only of optimizers that use the base's ``step``."""
    return type(optimizer).step is Optimizer.step and optimizer._step_count == 0
