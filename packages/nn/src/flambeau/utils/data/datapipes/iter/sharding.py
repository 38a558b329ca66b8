"""The stage that gives each process and worker its share."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..lengths import length_of

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]


class SHARDING_PRIORITIES(enum.IntEnum):
    """Between whom samples are shared: first the processes, then their workers."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe[Any]):
    """Gives every n-th sample, after ``apply_sharding`` (functional name: ``sharding_filter``).

    A ``DataLoader`` applies it in its workers, so that each sample comes once.

    Args:
        source_datapipe: The stage before.
        sharding_group_filter: The one kind of sharing that it takes part in.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> share = IterableWrapper(range(5)).sharding_filter()
        >>> share.apply_sharding(2, 1)
        >>> list(share)
        [1, 3]
    """

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(self, num_of_instances: int, instance_id: int,
                       sharding_group: Any = SHARDING_PRIORITIES.DEFAULT) -> None:
        """Keep one share.

        Args:
            num_of_instances: How many there are.
            instance_id: Which one it is.
            sharding_group: Between whom; shares of several kinds are shares of shares.

        Raises:
            ValueError: There are not so many.
            RuntimeError: Kinds are mixed with ``DEFAULT``.
        """
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than "
                             f"num_of_instances({num_of_instances})")
        default = SHARDING_PRIORITIES.DEFAULT
        if any((group == default) != (sharding_group == default) for group in self.groups):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = num_of_instances, instance_id
        self._update()

    def _update(self) -> None:
        wanted = self.sharding_group_filter
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups, reverse=True):
            if wanted is None or group == wanted:
                count, index = self.groups[group]
                self.instance_id += self.num_of_instances * index
                self.num_of_instances *= count

    def __iter__(self) -> Iterator[Any]:
        for number, sample in enumerate(self.source_datapipe):
            if number % self.num_of_instances == self.instance_id:
                yield sample

    def __len__(self) -> int:
        count = length_of(self.source_datapipe, self)
        return len(range(self.instance_id, count, self.num_of_instances))
