"""Stages that change the order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sized
from typing import Any

from ..._epoch import draw_seed
from ...sampler import SequentialSampler
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, Sample
from ..lengths import length_of

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe[Sample]):
    """Gives what a sampler of the stage gives.

    Args:
        datapipe: The stage before, which has a length.
        sampler: The class of the sampler.
        sampler_args: Its arguments after the stage.
        sampler_kwargs: The same by name.
    """

    def __init__(self, datapipe: Any, sampler: Any = SequentialSampler,
                 sampler_args: tuple[Any, ...] | None = None,
                 sampler_kwargs: dict[str, Any] | None = None) -> None:
        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler: the stage before needs a length, which "
                                 f"{type(datapipe).__name__} has not")
        self.datapipe = datapipe
        self.sampler = sampler(*(sampler_args or ()),
                               **{"data_source": datapipe, **(sampler_kwargs or {})})

    def __iter__(self) -> Iterator[Any]:
        yield from self.sampler

    def __len__(self) -> int:
        return length_of(self.sampler, self)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe[Sample]):
    """Gives samples in random order, as far as a buffer goes (functional name: ``shuffle``).

    Each sample that comes replaces one of the buffer at random, which is given. A ``DataLoader``
    seeds the stage in each epoch, the same in all its workers.

    Args:
        datapipe: The stage before.
        buffer_size: Samples that the buffer holds.
        unbatch_level: How many levels of batches are taken apart before.

    Raises:
        AssertionError: The buffer holds no sample.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> data = IterableWrapper(range(10)).shuffle().set_seed(0)
        >>> sorted(data) == list(range(10)) and list(data.set_seed(3)) == list(data.set_seed(3))
        True
    """

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self._buffer: list[Any] = []
        self.datapipe = datapipe.unbatch(unbatch_level=unbatch_level) if unbatch_level else datapipe
        self.buffer_size = buffer_size
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe[Sample]:
        """Set whether the order is changed; return the stage."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe[Sample]:
        """Set what the next order is drawn from; return the stage."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        for sample in self.datapipe:
            if len(self._buffer) < self.buffer_size:
                self._buffer.append(sample)
                continue
            index = self._rng.randint(0, len(self._buffer) - 1)
            given, self._buffer[index] = self._buffer[index], sample
            yield given
        while self._buffer:
            yield self._buffer.pop(self._rng.randint(0, len(self._buffer) - 1))

    def __len__(self) -> int:
        return length_of(self.datapipe, self)

    def reset(self) -> None:
        """Empty the buffer, and draw a seed if none was set."""
        self._buffer = []
        if self._enabled:
            self._rng.seed(draw_seed(None) if self._seed is None else self._seed)
            self._seed = None
