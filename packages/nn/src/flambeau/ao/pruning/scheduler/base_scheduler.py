"""The base of what decides how many weights are zero at which step."""
from __future__ import annotations

import warnings
from typing import Any

from flambeau.ao.pruning.sparsifier.base_sparsifier import BaseSparsifier

__all__ = ["BaseScheduler"]


class BaseScheduler:
    """Sets the ``sparsity_level`` of each group of a sparsifier to what `get_sl` returns.

    Args:
        sparsifier: A sparsifier whose ``prepare`` was called.
        last_epoch: The number of the last step.
        verbose: Whether each level is printed.
    """

    def __init__(self, sparsifier: Any, last_epoch: int = -1, verbose: bool = False) -> None:
        self.sparsifier: Any = sparsifier
        self.base_sl = [group["sparsity_level"] for group in _groups_of(sparsifier)]
        self.last_epoch, self.verbose = last_epoch, verbose
        sparsifier._step_count = 0
        self._step_count = 0
        self._get_sl_called_within_step = False
        self.step()

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the sparsifier."""
        return {key: value for key, value in vars(self).items() if key != "sparsifier"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the attributes that `state_dict` returned."""
        vars(self).update(state_dict)

    def get_last_sl(self) -> list[float]:
        """The levels that the last step set."""
        return self._last_sl

    def get_sl(self) -> list[float]:
        """The levels of step ``last_epoch``, which derived classes compute."""
        raise NotImplementedError(f"{type(self).__name__} has no get_sl(): define it, to return a "
                                  "level for each of self.sparsifier.groups")

    def print_sl(self, is_verbose: bool, group: int, sl: float, epoch: int | None = None) -> None:
        """Print the level of a group, if that is wanted."""
        if is_verbose:
            start = "Adjusting" if epoch is None else f"Epoch {epoch:5d}: adjusting"
            print(f"{start} sparsity level of group {group} to {sl:.4e}.")

    def __repr__(self) -> str:
        return (f"{type(self).__name__} (\nSparsifier {self.sparsifier}\n"
                f"    base_sl: {self.base_sl}\n)")

    def step(self, epoch: int | None = None) -> None:
        """Set the levels of the next step; the sparsifier computes masks of them at its own."""
        if self._step_count == 1 and self.sparsifier._step_count < 1:
            warnings.warn("scheduler.step() was called before sparsifier.step(): call that of the "
                          "sparsifier first", UserWarning, stacklevel=2)
        self._step_count += 1
        self._get_sl_called_within_step = True
        try:
            self.last_epoch += 1
            levels = self.get_sl()
        finally:
            self._get_sl_called_within_step = False
        for i, (group, level) in enumerate(zip(self.sparsifier.groups, levels, strict=False)):
            group["sparsity_level"] = level
            self.print_sl(self.verbose, i, level, epoch)
        self._last_sl = [group["sparsity_level"] for group in self.sparsifier.groups]
        self.sparsifier.enable_mask_update = True

    def _make_sure_a_list(self, var: Any) -> list[Any]:
        """A value for each group."""
        n = len(_groups_of(self.sparsifier))
        if not isinstance(var, list | tuple):
            return [var] * n
        if len(var) != n:
            raise ValueError(f"the sparsifier has {n} groups: write one value, or {n}, got "
                             f"{len(var)}")
        return list(var)

    def _expect_in_step(self) -> None:
        """Warn where `get_sl` is called for what `get_last_sl` returns."""
        if not self._get_sl_called_within_step:
            warnings.warn("get_sl() computes the levels for step(): write get_last_sl() for those "
                          "that are set", stacklevel=3)


def _groups_of(sparsifier: Any) -> list[dict[str, Any]]:
    if not isinstance(sparsifier, BaseSparsifier):
        raise TypeError("a scheduler takes a sparsifier, such as WeightNormSparsifier(), got "
                        f"{type(sparsifier).__name__}")
    return sparsifier.groups
