"""Running through the data: jobs with their numbers, batches made here, and how far one is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from flambeau.core import blocks

from ._fetch import END, Fetcher, Job
from ._seeding import Streams


class Progress:
    """How far a run through the data is; the loader keeps it, and not the run with its workers."""

    __slots__ = ("expected", "finished", "seed", "start", "taken")

    def __init__(
        self, start: dict[str, Any], seed: int, taken: int, expected: int | None = None
    ) -> None:
        self.start = start
        self.seed = seed
        self.taken = taken
        self.expected = expected  # batches, by the length that an iterable dataset gave
        self.finished = False

    def count(self) -> None:
        """One more batch was taken."""
        self.taken += 1
        if self.expected is not None and self.taken > self.expected:
            warnings.warn(
                f"the length of the IterableDataset makes {self.expected} when len(loader) is "
                f"asked, but {self.taken} samples have been fetched. For multiprocessing "
                "data-loading, this may mean that every worker yields all samples: let each take "
                "its share by get_worker_info(), or pass shard_iterable=False. Otherwise its "
                "__len__ is wrong",
                stacklevel=3,
            )


class Run:
    """One run through the data, which counts the batches that were taken."""

    __slots__ = ("__weakref__", "_batches", "_failed", "_pin", "_progress")

    def __init__(self, batches: Iterator[Any], progress: Progress, pin: Any) -> None:
        self._batches = batches
        self._progress = progress
        self._pin = pin
        self._failed = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def _watched(self) -> AbstractContextManager[Any]:
        """A row of profilers, named as PyTorch names the iterator."""
        workers = "MultiProcessing" if hasattr(self._batches, "superseded") else "SingleProcess"
        row: AbstractContextManager[Any] = blocks.block(
            f"enumerate(DataLoader)#_{workers}DataLoaderIter.__next__")
        return row

    def __next__(self) -> Any:
        if self._failed:  # who asks for the next batch has given up the one that failed
            self._progress.taken += 1
            self._failed = False
        try:
            with self._watched() if blocks.watchers else nullcontext():
                batch = next(self._batches)
        except StopIteration:
            self._progress.finished = True
            raise
        except Exception:
            self._failed = True
            del self  # the traceback keeps this frame, which must not keep the workers
            raise
        self._progress.count()
        return batch if self._pin is None else self._pin(batch)


def forever() -> Iterator[None]:
    """What the jobs of an iterable dataset hold."""
    while True:
        yield None


def number_jobs(indices: Iterator[Any], run: int, seed: int, skip: int) -> Iterator[Job]:
    """Jobs from what they hold, numbered from the first that is not skipped."""
    for number, each in enumerate(indices, skip):
        yield Job(run, number, seed, each, skip)


class LoadHere:
    """Batches made by the calling thread; an error in one of them does not end the loop."""

    def __init__(self, fetcher: Fetcher, jobs: Iterator[Job]) -> None:
        self._fetcher = fetcher
        self._jobs = jobs
        self._streams = Streams(everywhere=True, restore=True)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        job = next(self._jobs)
        if self._fetcher.seeded:
            with self._streams as streams:
                batch = self._fetcher.load(job, streams)
        else:
            batch = self._fetcher.load(job, self._streams)
        if batch is END:
            self._jobs = iter(())
            raise StopIteration
        return batch
