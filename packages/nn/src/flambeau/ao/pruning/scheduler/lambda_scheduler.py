"""Levels that a function gives."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ao.pruning.scheduler.base_scheduler import BaseScheduler

__all__ = ["LambdaSL"]


class LambdaSL(BaseScheduler):
    """The level of each group times what a function returns for the number of the step.

    Args:
        sparsifier: The sparsifier.
        sl_lambda: The function, or one for each group.
        last_epoch: The number of the last step.
        verbose: Whether each level is printed.
    """

    def __init__(self, sparsifier: Any,
                 sl_lambda: Callable[[int], float] | list[Callable[[int], float]],
                 last_epoch: int = -1, verbose: bool = False) -> None:
        self.sparsifier = sparsifier
        self.sl_lambdas = self._make_sure_a_list(sl_lambda)
        super().__init__(sparsifier, last_epoch, verbose)

    def get_sl(self) -> list[float]:
        """The levels of step ``last_epoch``."""
        self._expect_in_step()
        return [level * f(self.last_epoch)
                for f, level in zip(self.sl_lambdas, self.base_sl, strict=True)]
