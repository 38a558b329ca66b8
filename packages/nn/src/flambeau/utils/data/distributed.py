"""The share of one of several processes that train together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from typing import Any

import flambeau
from flambeau import distributed

from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """The samples of one process out of several, each of which has its own share.

    All processes draw the same order, from ``seed`` and the epoch, and take every
    ``num_replicas``-th sample of it. Where the samples do not come out even, the first ones are
    repeated at the end, or with ``drop_last`` the last ones are left out.

    Args:
        dataset: Anything with a length.
        num_replicas: How many processes there are; else those of the process group.
        rank: Which of them this is, from 0; else its number in the process group.
        shuffle: Whether the order is random.
        seed: The same in all processes.
        drop_last: Leave out samples rather than repeat some.

    Raises:
        ValueError: ``rank`` is out of range, or one is left out and there is no process group.

    Example:
        >>> from flambeau.utils.data import DistributedSampler
        >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = distributed.get_world_size()
        if rank is None:
            rank = distributed.get_rank()
        if not 0 <= rank < num_replicas:
            raise ValueError(f"rank lies between 0 and {num_replicas - 1}, not {rank}")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        order = self._order()
        missing = self.total_size - len(order)
        if missing > 0 and order:
            order += (order * math.ceil(missing / len(order)))[:missing]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def _order(self) -> list[int]:
        count = len(self.dataset)
        if not self.shuffle:
            return list(range(count))
        generator = flambeau.Generator().manual_seed(self.seed + self.epoch)
        return list(flambeau.randperm(count, generator=generator).tolist())

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes next; each has another order."""
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """What decides the order, for ``DataLoader.state_dict``."""
        return {"epoch": self.epoch, "seed": self.seed}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what decides the order."""
        self.epoch = state_dict["epoch"]
        self.seed = state_dict["seed"]
