"""``LRScheduler``: what all schedules share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from flambeau import Tensor
from flambeau.core._core import about_to_change

from ..optimizer import Optimizer

#: By this name programs filter the warning.
EPOCH_DEPRECATION_WARNING = "step(epoch) is deprecated: step() goes from one epoch to the next"


def within_step(get_lr: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """Decorate a ``get_lr`` that goes on from the rates in force, and so means a step alone."""

    @wraps(get_lr)
    def ask(self: Any) -> list[Any]:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "get_lr() computes the rates of the step under way: get_last_lr() gives those in "
                "force",
                stacklevel=2,
            )
        return get_lr(self)

    return ask


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
    base_lrs: list[Any]
    last_epoch: int

    _is_initial = False
    _get_lr_called_within_step = False  # schedules from elsewhere ask for it in their get_lr

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.base_lrs = _first_rates(optimizer, last_epoch)
        self.last_epoch = last_epoch
        self._initial_step()

    def get_lr(self) -> list[Any]:
        """The rates of epoch ``self.last_epoch``, one for each group."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr(self)")

    def get_last_lr(self) -> list[Any]:
        """The rates that the last ``step`` set, numbers or tensors as the groups have them."""
        return self._last_lr

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch; call it after ``optimizer.step()``.

        Args:
            epoch: Deprecated: the epoch to go to instead of the next one.
        """
        if self._step_count == 1 and getattr(self.optimizer, "_step_count", 1) == 0:
            warnings.warn(
                "lr_scheduler.step() was called before optimizer.step(): the first learning rate "
                "of the schedule is skipped. Call optimizer.step() first",
                stacklevel=2,
            )
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._step_count += 1
        self._update_lr(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` of a schedule of the same kind returned."""
        self.__dict__.update(state_dict)

    def _initial_step(self) -> None:
        """Enter the first epoch."""
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def _update_lr(self, epoch: float | None = None) -> None:
        """Enter the next epoch, or another one as if the rates had never been changed."""
        if epoch is None:
            self.last_epoch += 1
            rates = self._ask(self.get_lr)
        else:
            self.last_epoch = epoch  # type: ignore[assignment]
            rates = self._ask(self._get_closed_form_lr)
        self._set_rates(rates)

    def _ask(self, rates: Callable[[], list[Any]]) -> list[Any]:
        """The rates, from a method that may look whether it is called by ``step``."""
        self._get_lr_called_within_step = True
        try:
            return rates()
        finally:
            self._get_lr_called_within_step = False

    def _get_closed_form_lr(self) -> list[Any]:
        """The rates of epoch ``self.last_epoch`` from ``base_lrs`` alone."""
        return self.get_lr()

    def _set_rates(self, rates: list[Any]) -> None:
        about_to_change(self, "step() of a learning rate schedule")
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = rates_of(self.optimizer)


def rates_of(optimizer: Optimizer) -> list[Any]:
    """The rates in force; tensors are copied."""
    return [copied(group["lr"]) for group in optimizer.param_groups]


def copied(value: Any) -> Any:
    """A value that does not change with the one given."""
    return value.clone() if isinstance(value, Tensor) else value


def set_option(group: dict[str, Any], name: str, value: Any) -> None:
    """Set an option of a group; a tensor, which others may hold, is filled."""
    if isinstance(group.get(name), Tensor):
        group[name].fill_(float(value))
    else:
        group[name] = copied(value)


def each_group(name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """One value for every parameter group.

    Raises:
        ValueError: There are several, but not as many as groups.
    """
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(f"{name} has {len(value)} values for {groups} parameter groups")
    return list(value)


def check_optimizer(optimizer: object) -> None:
    """Refuse what is not an optimizer.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"a schedule takes an Optimizer, not {type(optimizer).__name__}")


def _first_rates(optimizer: Optimizer, last_epoch: int) -> list[Any]:
    """The rates training began with, which the groups remember."""
    for i, group in enumerate(optimizer.param_groups):
        if last_epoch == -1:
            group.setdefault("initial_lr", copied(group["lr"]))
        elif "initial_lr" not in group:
            raise KeyError(
                f"param_groups[{i}] has no 'initial_lr', which resuming with last_epoch="
                f"{last_epoch} needs: load the optimizer's state_dict first, or begin with "
                "last_epoch=-1"
            )
    return [copied(group["initial_lr"]) for group in optimizer.param_groups]
