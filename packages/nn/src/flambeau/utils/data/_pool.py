"""What worker threads and worker processes have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ._fetch import Fetcher
from ._seeding import COLLATE

STUCK_SECONDS = 25  # without one sample more, unless DataLoader(timeout=...) says otherwise
POLL_SECONDS = 1.0

_STARTING = (
    "while it started (processes that are not forked run the main program's file once more: its "
    "own loop belongs under if __name__ == '__main__':)"
)


@dataclass(frozen=True)
class Setup:
    """What every worker needs to know at its start.

    Attributes:
        fetcher: Makes batches.
        count: How many workers there are.
        told_count: How many ``get_worker_info`` tells of.
        seed: Worker ``i`` starts its default generator at ``seed + i``.
        init: The user's ``worker_init_fn``.
    """

    fetcher: Fetcher
    count: int
    told_count: int
    seed: int
    init: Callable[[int], Any] | None


class Failure(NamedTuple):
    """An exception instead of a batch, and the traceback text if it is from a process."""

    error: BaseException
    traceback: str | None = None


class Message(NamedTuple):
    """A batch, ``END`` or a ``Failure`` from a worker."""

    epoch: int
    number: int
    worker: int
    outcome: Any


class Abandoned(BaseException):
    """Raised inside a worker between samples when nobody wants the batch any more."""


class Pool(Protocol):
    """What an iterator needs of its workers."""

    kind: str
    close: Any

    def send(self, worker: int, job: Any) -> None: ...

    def receive(self, seconds: float) -> Message | None: ...

    def position(self, worker: int) -> tuple[int, int, int]: ...

    def name(self, worker: int) -> str: ...

    def check(self, worker: int) -> str | None: ...


class Watch:
    """Counts for how many polls in a row each worker has not got on.

    Polls rather than a clock: a machine that was asleep has no stuck workers.
    """

    def __init__(self, count: int) -> None:
        self._seen = [-1] * count
        self._idle = [0] * count

    def idle_polls(self, worker: int, ticks: int) -> int:
        """How often in a row this worker was seen at the same tick."""
        if self._seen[worker] != ticks:
            self._seen[worker] = ticks
            self._idle[worker] = 0
        else:
            self._idle[worker] += 1
        return self._idle[worker]


def where(pool: Pool, worker: int, jobs: dict[int, Any]) -> str:
    """What a worker is doing: the sample, or the stage of the batch."""
    _, number, position = pool.position(worker)
    job = jobs.get(number)
    if job is None:
        return "between two batches" if number >= 0 else _STARTING
    indices = job.indices
    if position == COLLATE:
        return f"in collate_fn of batch {number}"
    if isinstance(indices, list) and 0 <= position < len(indices):
        return f"at sample {indices[position]!r} (position {position} of batch {number})"
    if indices is not None and not hasattr(indices, "__len__"):
        return f"at sample {indices!r} (batch {number})"
    return f"at batch {number}"
