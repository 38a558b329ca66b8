"""Worker threads that load batches ahead, in order.

Threads rather than processes: nothing is pickled, no memory is copied between processes, and
loading that waits for files or runs in compiled code overlaps with the training step.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from ._info import WorkerInfo, set_worker_info


class Plan(NamedTuple):
    """How many threads, how far ahead, and for how long to wait."""

    workers: int
    ahead: int
    timeout: float | None
    dataset: Any
    init: Callable[[int], Any] | None


def load_ahead(plan: Plan, jobs: Iterator[Any], load: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield ``load(job)`` for every job, in order, computed by threads.

    ``jobs`` itself is read in the calling thread, so that random draws keep their order.
    """
    pool = ThreadPoolExecutor(plan.workers, "flambeau-data", _make_initializer(plan))
    pending: deque[Future[Any]] = deque()
    try:
        for job in itertools.islice(jobs, plan.ahead):
            pending.append(pool.submit(load, job))
        while pending:
            result = _wait(pending.popleft(), plan)
            for job in itertools.islice(jobs, 1):
                pending.append(pool.submit(load, job))
            yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _make_initializer(plan: Plan) -> Callable[[], None]:
    ids = itertools.count()

    def initialize() -> None:
        worker = next(ids)
        set_worker_info(WorkerInfo(worker, plan.workers, plan.dataset))
        if plan.init is not None:
            plan.init(worker)

    return initialize


def _wait(future: Future[Any], plan: Plan) -> Any:
    try:
        return future.result(plan.timeout)
    except TimeoutError:
        if future.done():
            raise
        raise RuntimeError(
            f"DataLoader: the next batch was not ready after timeout={plan.timeout} s"
        ) from None
