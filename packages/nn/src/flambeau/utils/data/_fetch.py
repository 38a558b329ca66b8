"""Making one batch: reading the samples that a job names and collating them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor
from flambeau.core import over_buffer

from ._seeding import COLLATE, Streams
from .collate import default_collate, default_convert
from .dataset import (
    ConcatDataset,
    StackDataset,
    Subset,
    TensorDataset,
    check_index,
    rows_of,
)

Gather = Callable[[Tensor], Tensor | list[Tensor]]
Tick = Callable[[int], None]  # told the position in the batch of what is loaded next


class Job(NamedTuple):
    """What a worker needs to know to make one batch.

    Attributes:
        epoch: Which run through the data this is, in this process.
        number: The batch's position in the epoch.
        seed: The epoch's seed.
        indices: Which samples; ``None`` for the next ones of an iterable dataset.
        skip: Batches of an iterable dataset to pass over first.
    """

    epoch: int
    number: int
    seed: int
    indices: Any
    skip: int = 0


class _End:
    """Says that an iterable dataset has no more batches; the same object in every process."""

    def __reduce__(self) -> str:
        return "END"


END = _End()


def gathers(dataset: Any) -> bool:
    """Whether batches are nothing but rows of tensors.

    Subclasses may override ``__getitem__``, so only the classes themselves count.
    """
    if type(dataset) is Subset:
        return gathers(dataset.dataset)
    return type(dataset) in (TensorDataset, Tensor)


def gather_of(dataset: Any) -> Gather | None:
    """A function from a tensor of indices to a batch, if rows of tensors are all there is."""
    if not gathers(dataset):
        return None
    if type(dataset) is TensorDataset:
        return dataset.gather
    if type(dataset) is Tensor:
        return lambda index: rows_of(dataset, index)
    gather = gather_of(dataset.dataset)
    assert gather is not None
    chosen = flambeau.as_tensor(dataset.indices, dtype=flambeau.int64)
    chosen = flambeau.where(chosen < 0, chosen + len(dataset.dataset), chosen)
    return lambda index: gather(chosen.index_select(0, index))


def runs_own_code(dataset: Any) -> bool:
    """Whether reading a sample may run code that is not ours, which may draw random numbers."""
    if type(dataset) is Subset:
        return runs_own_code(dataset.dataset)
    if type(dataset) is ConcatDataset:
        return any(map(runs_own_code, dataset.datasets))
    if type(dataset) is StackDataset:
        parts = dataset.datasets
        return any(map(runs_own_code, parts.values() if isinstance(parts, dict) else parts))
    kind = type(dataset)
    is_array = kind.__module__ == "numpy" and kind.__name__ == "ndarray"
    return not is_array and kind not in (TensorDataset, Tensor, list, tuple, range, str, dict)


class Fetcher:
    """Makes batches of a dataset; every worker has one.

    Args:
        dataset: Where samples come from.
        collate_fn: Makes a batch of samples.
        mode: What a job holds: ``"rows"`` indices for ``gather``, ``"batch"`` a list of indices,
            ``"one"`` one index, ``"next"`` nothing.
        batch_size: Samples in a batch of an iterable dataset; ``None``: single samples.
        drop_last: Whether to leave out a last batch of an iterable dataset that is smaller.
        seed_samples: Whether every sample gets a random stream of its own.
    """

    def __init__(
        self,
        dataset: Any,
        collate_fn: Callable[[Any], Any],
        mode: str,
        batch_size: int | None,
        drop_last: bool,
        seed_samples: bool,
    ) -> None:
        self.dataset = dataset
        self.collate_fn = collate_fn
        self.mode = mode
        self.batch_size = batch_size
        self.drop_last = drop_last
        plain = collate_fn in (default_collate, default_convert) and not runs_own_code(dataset)
        self.seeded = seed_samples and not plain
        self._gather: Gather | None = None
        self._epoch = -1
        self._stream: Iterator[Any] = iter(())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_gather": None, "_stream": iter(()), "_epoch": -1}

    def load(self, job: Job, streams: Streams, tick: Tick | None = None) -> Any:
        """The batch of a job, or ``END``.

        Args:
            job: Which.
            streams: Where random numbers come from meanwhile.
            tick: Called before each sample, and before collating, with its position in the batch.
        """
        if self.mode == "rows":
            return self.gather(job.indices)
        seeded = streams if self.seeded else None
        if seeded is not None:
            seeded.start(job.seed, job.number)
        if self.mode == "next":
            samples = self._read_on(job, seeded, tick)
            if samples is END:
                return END
        else:
            samples = self._read(job.indices, seeded, tick)
        _step(COLLATE, seeded, tick)
        return self.collate_fn(samples)

    def gather(self, indices: Any) -> Any:
        """The rows that indices name: a tensor, its bytes, or a list as samplers make it."""
        if self._gather is None:
            self._gather = gather_of(self.dataset)
        assert self._gather is not None
        if isinstance(indices, bytes):
            indices = over_buffer(indices, flambeau.int64)
        elif isinstance(indices, list):
            size = len(self.dataset)
            try:
                positions = [check_index(operator.index(index), size) for index in indices]
            except TypeError:  # slices, for example, which the dataset may well take
                return self.collate_fn(self._read_each(indices, None, None))
            indices = flambeau.tensor(positions, dtype=flambeau.int64)
        return self._gather(indices)

    def _read(self, indices: Any, streams: Streams | None, tick: Tick | None) -> Any:
        """The samples that indices name; an error's note tells the index."""
        if self.mode == "one":
            _step(0, streams, tick)
            return self._read_each([indices], None, None)[0]
        if callable(getattr(self.dataset, "__getitems__", None)):
            _step(0, streams, tick)
            return self._read_together(indices)
        return self._read_each(indices, streams, tick)

    def _read_each(self, indices: Any, streams: Streams | None, tick: Tick | None) -> list[Any]:
        dataset = self.dataset
        samples = []
        index = None
        try:
            for position, index in enumerate(indices):
                if streams is not None:
                    streams.position(position)
                if tick is not None:
                    tick(position)
                samples.append(dataset[index])
        except Exception as error:
            error.add_note(f"while loading sample {index!r} of {type(dataset).__name__}")
            raise
        return samples

    def _read_together(self, indices: Any) -> Any:
        try:
            return self.dataset.__getitems__(indices)
        except Exception as error:
            shown = ", ".join(map(repr, indices[:8])) + (", ..." if len(indices) > 8 else "")
            kind = type(self.dataset).__name__
            error.add_note(f"while loading samples {shown} of {kind} with __getitems__")
            raise

    def _read_on(self, job: Job, streams: Streams | None, tick: Tick | None) -> Any:
        """The next samples of an iterable dataset, or ``END``."""
        if job.epoch != self._epoch:
            _step(COLLATE - 1, streams, tick)
            self._stream = iter(self.dataset)
            self._epoch = job.epoch
            for number in range(job.number - job.skip, job.number):
                if streams is not None:
                    streams.start(job.seed, number)
                self._take(number, streams, tick)
            if streams is not None and job.skip:
                streams.start(job.seed, job.number)
        samples = self._take(job.number, streams, tick)
        if self.batch_size is None:
            return samples[0] if samples else END
        if not samples or (self.drop_last and len(samples) < self.batch_size):
            return END
        return samples

    def _take(self, number: int, streams: Streams | None, tick: Tick | None) -> list[Any]:
        """Up to a batch of samples from the stream."""
        samples: list[Any] = []
        for position in range(self.batch_size or 1):
            _step(position, streams, tick)
            try:
                sample = next(self._stream, END)
            except Exception as error:
                kind = type(self.dataset).__name__
                error.add_note(f"while loading sample {position} of batch {number} of {kind}")
                raise
            if sample is END:
                self._stream = iter(())  # asked again, some iterators do not stay at their end
                break
            samples.append(sample)
        return samples


def _step(position: int, streams: Streams | None, tick: Tick | None) -> None:
    """Before what is at this position of the batch: start its stream, and tell."""
    if streams is not None:
        streams.position(position)
    if tick is not None:
        tick(position)
