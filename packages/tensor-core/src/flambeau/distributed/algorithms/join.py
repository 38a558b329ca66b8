"""Training in processes with different numbers of batches.

A process without batches left has joined. It goes on to call the collectives that the others still
call in each step, and so do they with it: before each step an `all_reduce` counts who has a batch.
"""
from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import flambeau
from flambeau import distributed

__all__ = ["Join", "JoinHook", "Joinable"]

WARNING_STEPS = 1000  # that a process has fewer than another before it says so


class JoinHook:
    """What a process does for one object once it has no batches left; a base class."""

    def main_hook(self) -> None:
        """Call the collectives of one step; again for each step of those with batches."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once, when no process has batches left.

        Args:
            is_last_joiner: Whether this process was among the last with batches.
        """


class JoinConfig(NamedTuple):
    """What a `Join` tells its objects."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """What calls collectives in each step, and can do without a batch; a base class."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process does when it has no batches left.

        Args:
            kwargs: What the `Join` was given for its objects.
        """

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device that processes count themselves on."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The processes."""


class Join:
    """A block of steps in which processes may have different numbers of batches.

    Args:
        joinables: The objects that call collectives, such as ``DistributedDataParallel`` and
            ``ZeroRedundancyOptimizer``, in the order of their calls.
        enable: Whether it does anything.
        throw_on_early_termination: Whether all processes raise as soon as one has no batches left.
        kwargs: What the objects' `join_hook` is given.

    Raises:
        ValueError: No objects, or objects of different groups.

    Example:
        >>> from flambeau import distributed, nn
        >>> from flambeau.distributed.algorithms import Join
        >>> distributed.init_process_group("gloo", world_size=1, rank=0)
        >>> net = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
        >>> with Join([net]):
        ...     for batch in [flambeau.ones(2, 1)]:
        ...         net(batch).sum().backward()
        >>> distributed.destroy_process_group()
    """

    def __init__(self, joinables: Sequence[Joinable], enable: bool = True,
                 throw_on_early_termination: bool = False, **kwargs: Any) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = [each.join_process_group for each in joinables]
        if any(group is not groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups: give each "
                             "group a Join of its own")
        self._enable = enable
        self._throw = throw_on_early_termination
        self._hooks = [each.join_hook(**kwargs) for each in joinables]
        self._joinables = joinables
        self._group, self._device = groups[0], joinables[0].join_device

    def __enter__(self) -> None:
        for i, each in enumerate(self._joinables):
            each._join_config = JoinConfig(self._enable, self._throw, i == 0)

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            if self._enable and kind is None:
                self._shadow()
        finally:
            for each in self._joinables:
                each._join_config = JoinConfig()

    def _shadow(self) -> None:
        """Call what the others call until nobody has batches left."""
        steps = 0
        while _counted(0, self._group, self._device):
            if self._throw:
                _counted(1, self._group, self._device)
                raise RuntimeError(f"Rank {distributed.get_rank(self._group)} exhausted all "
                                   "inputs.")
            for hook in self._hooks:
                hook.main_hook()
            steps += 1
            if steps == WARNING_STEPS:
                warnings.warn(
                    f"Join: this process has had no batches left for {steps} steps of the others; "
                    "divide the batches more evenly", stacklevel=3)
        for hook in self._hooks:
            hook.post_hook(steps == 0)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Say that this process has a batch; an object calls it before its collectives of a step.

        Args:
            joinable: The object; the first one of a `Join` speaks for all.

        Returns:
            A `Work` whose result counts the processes with a batch, or None: it is not the first
            one, or there is no `Join`.

        Raises:
            RuntimeError: A process has no batches left, and the `Join` is to raise then.
        """
        config = joinable._join_config
        if not (config.enable and config.is_first_joinable):
            return None
        group, device = joinable.join_process_group, joinable.join_device
        work = distributed.all_reduce(flambeau.ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination and _counted(0, group, device):
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across "
                               "all ranks.")
        return work


def _counted(mine: int, group: Any, device: Any) -> int:
    """The sum over all processes."""
    total = flambeau.full((1,), float(mine), device=device)
    distributed.all_reduce(total, group=group)
    return int(total.item())
