"""Worker threads: nothing is copied, and loading that waits for files overlaps with training."""

from __future__ import annotations

import copy
import threading
import time
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from flambeau import Generator

from ._fetch import Fetcher
from ._info import WorkerInfo, set_worker_info
from ._pool import Abandoned, Failure, Message, Setup, Watch
from ._seeding import Streams
from ._worker_seeds import initialize

_PATIENCE = 0.3  # seconds to end


class ThreadPool:
    """Threads that make batches, each with its own queue of jobs.

    Args:
        setup: What every worker needs to know.
    """

    kind = "thread"

    def __init__(self, setup: Setup) -> None:
        self._jobs: list[SimpleQueue[Any]] = [SimpleQueue() for _ in range(setup.count)]
        self._results: SimpleQueue[Message] = SimpleQueue()
        self._boards = [_Board() for _ in range(setup.count)]
        self._watch = Watch(setup.count)
        self.threads = []
        for worker, jobs in enumerate(self._jobs):
            args = (setup, worker, jobs, self._results, self._boards[worker])
            name = f"flambeau-data-{worker}"
            thread = threading.Thread(target=_work, args=args, name=name, daemon=True)
            thread.start()
            self.threads.append(thread)
        self.close = weakref.finalize(self, _stop, self._jobs, self._boards, self.threads)

    def send(self, worker: int, job: Any) -> None:
        """Give a worker one more job."""
        self._jobs[worker].put(job)

    def receive(self, seconds: float) -> Message | None:
        """What some worker has made; ``None`` after so many seconds without anything."""
        try:
            return self._results.get(timeout=seconds)
        except Empty:
            return None

    def position(self, worker: int) -> tuple[int, int, int]:
        """How often a worker has got on, at which batch and position it is."""
        board = self._boards[worker]
        return board.ticks, board.number, board.position

    def name(self, worker: int) -> str:
        """What errors call a worker."""
        return f"worker (thread {self.threads[worker].name!r})"

    def check(self, worker: int) -> str | None:
        """Why a worker is no more; ``None`` while it is there."""
        return None if self.threads[worker].is_alive() else "has ended"


class _Board:
    """What a worker tells about itself while it works."""

    def __init__(self) -> None:
        self.ticks = 0
        self.number = -1
        self.position = -1
        self.stopped = False

    def tick(self, position: int) -> None:
        self.position = position
        self.ticks += 1
        if self.stopped:
            raise Abandoned


def _stop(
    jobs: list[SimpleQueue[Any]], boards: list[_Board], threads: list[threading.Thread]
) -> None:
    """End all threads; wait a moment for them, but not for one in the middle of a long sample."""
    for board in boards:
        board.stopped = True
    for queue in jobs:
        queue.put(None)
    deadline = time.monotonic() + _PATIENCE
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))


def _work(
    setup: Setup,
    worker: int,
    jobs: SimpleQueue[Any],
    results: SimpleQueue[Message],
    board: _Board,
) -> None:
    """The life of a worker thread. It knows nothing of the pool, which ends when unused."""
    fetcher = setup.fetcher if setup.count == 1 else _copy(setup.fetcher)
    seed = setup.seed + worker
    set_worker_info(WorkerInfo(worker, setup.told_count, seed, fetcher.dataset, "thread"))
    own = Generator().manual_seed(seed)
    with Streams(everywhere=False, restore=False, generator=own) as streams:
        failure = _initialize(setup.init, worker, streams)
        while (job := jobs.get()) is not None:
            board.number = job.number
            try:
                outcome = failure or _load(fetcher, job, streams, board.tick)
                results.put(Message(job.epoch, job.number, worker, outcome))
                board.tick(-1)
            except Abandoned:
                return
            del outcome, job


def _copy(fetcher: Fetcher) -> Fetcher:
    """A fetcher with a stream of its own over the same dataset.

    An iterable dataset is copied, as it is for processes: iterators often keep their position in
    it.
    """
    other = Fetcher.__new__(Fetcher)
    other.__dict__.update(fetcher.__getstate__())
    if fetcher.mode == "next":
        other.dataset = copy.copy(fetcher.dataset)
    return other


def _initialize(
    init: Callable[[int], Any] | None, worker: int, streams: Streams
) -> Failure | None:
    if init is None:
        return None
    try:
        streams.leave(initialize(init, worker, everywhere=False))
    except Exception as error:
        return Failure(error)
    return None


def _load(fetcher: Fetcher, job: Any, streams: Streams, tick: Callable[[int], None]) -> Any:
    try:
        return fetcher.load(job, streams, tick)
    except Exception as error:
        return Failure(error)
