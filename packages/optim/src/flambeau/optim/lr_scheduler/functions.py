"""Schedules by a function of the epoch that the user writes: ``LambdaLR``, ``MultiplicativeLR``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, each_group, rates_of, within_step

Factor = Callable[[int], float]


class _OfFunctions(LRScheduler):
    """A schedule with a function of the epoch for every group."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1
    ) -> None:
        check_optimizer(optimizer)
        self.lr_lambdas = each_group("lr_lambda", lr_lambda, optimizer)
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    "lr_lambda is a function of the epoch, or one for every group, not "
                    f"{type(function).__name__}"
                )
        super().__init__(optimizer, last_epoch)

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


class LambdaLR(_OfFunctions):
    """The first rate times a function of the epoch.

    Args:
        optimizer: Whose learning rates are set.
        lr_lambda: The function, or one for every group.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Raises:
        TypeError: ``lr_lambda`` is no function.
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

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [lr * function(self.last_epoch) for lr, function in pairs]


class MultiplicativeLR(_OfFunctions):
    """The rate in force times a function of the epoch.

    Args:
        optimizer: Whose learning rates are set.
        lr_lambda: The function, or one for every group.
        last_epoch: The last epoch of the training that is resumed; -1 to begin.

    Raises:
        TypeError: ``lr_lambda`` is no function.
        ValueError: The number of functions is not that of the groups.

    Example:
        >>> import flambeau
        >>> from flambeau import optim
        >>> optimizer = optim.SGD([flambeau.zeros(1)], lr=1.0)
        >>> schedule = optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> optimizer.step()
        >>> schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    @within_step
    def get_lr(self) -> list[Any]:
        """The rates of this epoch."""
        rates = rates_of(self.optimizer)
        if self._is_initial:
            return rates
        pairs = zip(rates, self.lr_lambdas, strict=True)
        return [lr * function(self.last_epoch) for lr, function in pairs]
