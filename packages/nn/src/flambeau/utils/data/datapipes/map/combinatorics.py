"""The stage that gives samples in a random order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ..._epoch import draw_seed
from ..datapipe import IterDataPipe, MapDataPipe
from ..lengths import length_of

__all__ = ["ShufflerIterDataPipe"]


class ShufflerIterDataPipe(IterDataPipe[Any]):
    """Gives samples in a random order, one after the other (functional name: ``shuffle``).

    Args:
        datapipe: The stage before.
        indices: The indices; from 0 on when left out.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> sorted(SequenceWrapper("cab").shuffle().set_seed(0))
        ['a', 'b', 'c']
    """

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()
        self._shuffled_indices: list[Any] = self.indices

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Set whether the order is changed; return the stage."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """Set what the next order is drawn from; return the stage."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            for index in self.indices:
                yield self.datapipe[index]
        while self._enabled and self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def __len__(self) -> int:
        return length_of(self.datapipe, self)

    def reset(self) -> None:
        """Draw an order, and a seed for it if none was set."""
        if self._enabled and self._seed is None:
            self._seed = draw_seed(None)
        self._rng.seed(self._seed)
        self._seed = None
        self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
