"""Iterating with workers: jobs go out ahead of time, batches come back in order."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from typing import Any

from ._fetch import END, Job
from ._pool import POLL_SECONDS, STUCK_SECONDS, Failure, Message, Pool, Watch, where


class WorkerTraceback(Exception):
    """The traceback text of an exception that was raised in another process."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


class Ahead:
    """Batches from workers.

    Args:
        pool: The workers.
        jobs: What is to be done, in order; read here, so that random draws keep their order.
        count: How many workers there are.
        ahead: How many batches are under way at most.
        timeout: Seconds to wait for a batch; 0: until a worker is stuck.
        in_order: Whether batches come in the order of their jobs.
        keep: Whether workers live on after the last batch.
    """

    def __init__(
        self,
        pool: Pool,
        jobs: Iterator[Job],
        count: int,
        ahead: int,
        timeout: float,
        in_order: bool,
        keep: bool,
    ) -> None:
        self._pool = pool
        self._jobs = jobs
        self._timeout = timeout
        self._in_order = in_order
        self._keep = keep
        self._watch = Watch(count)
        self._loads = [0] * count  # jobs under way at each worker
        self._under_way: dict[int, tuple[int, Job]] = {}
        self._arrived: dict[int, tuple[int, Any]] = {}
        self._ended: set[int] = set()  # workers whose iterable dataset is at its end
        self._sent = 0
        self._epoch = -1
        self._broken: str | None = None  # which worker is lost, and how
        self.finished = False
        self.superseded = False
        for _ in range(ahead):
            self._send_next()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.superseded:
            raise RuntimeError(
                "another loop over this DataLoader has begun, and persistent workers serve one at "
                "a time; make a second DataLoader, or leave out persistent_workers"
            )
        if self._broken is not None:
            raise RuntimeError(f"the loop cannot go on: {self._broken}")
        while not self.finished:
            number = self._next_number()
            if number is None:
                break
            if number not in self._arrived:
                try:
                    self._await(number)
                except KeyboardInterrupt:  # its traceback would keep the workers
                    self.close()
                    raise
                continue
            worker, outcome = self._arrived.pop(number)
            if isinstance(outcome, Failure):
                self._send_next()  # the loop may go on with the next batch
                del self  # the traceback keeps this frame, which must keep neither the workers
                try:
                    raise _error_of(outcome)
                finally:
                    del outcome  # nor the error
            if outcome is END:  # noted now, not on arrival: what comes next must not depend on time
                self._ended.add(worker)
            self._send_next()
            if outcome is not END:
                return outcome
        self.close()
        raise StopIteration

    def close(self) -> None:
        """Ask for no more batches; workers end unless they are kept."""
        self.finished = True
        self._arrived.clear()
        if not self._keep:
            self._pool.close()

    def _next_number(self) -> int | None:
        """The batch to hand out next; ``None`` when there are no more."""
        if self._in_order:
            known = [*self._arrived, *self._under_way]
            return min(known) if known else None
        if self._arrived:
            return next(iter(self._arrived))
        return next(iter(self._under_way), None)

    def _send_next(self) -> None:
        if len(self._ended) == len(self._loads):
            return
        try:
            job = next(self._jobs, None)
        except BaseException:  # the user's sampler
            self.close()
            raise
        if job is None:
            return
        self._epoch = job.epoch
        worker = self._choose()
        self._loads[worker] += 1
        self._under_way[job.number] = worker, job
        self._pool.send(worker, job)

    def _choose(self) -> int:
        """The worker for the next job: in turn, or without an order the one with least to do."""
        free = [worker for worker in range(len(self._loads)) if worker not in self._ended]
        if not self._in_order:
            return min(free, key=self._loads.__getitem__)
        self._sent += 1
        return free[(self._sent - 1) % len(free)]

    def _await(self, number: int) -> None:
        """Wait until something arrives, or an error is certain."""
        started = time.monotonic()
        while True:
            left = self._timeout - (time.monotonic() - started) if self._timeout else POLL_SECONDS
            message = self._pool.receive(max(0.0, min(POLL_SECONDS, left)))
            if message is None:
                self._check_workers()
                if self._timeout and time.monotonic() - started >= self._timeout:
                    self._fail_slow(number)
            elif message.epoch == self._epoch and message.number in self._under_way:
                self._note_arrival(message)
                return

    def _note_arrival(self, message: Message) -> None:
        self._under_way.pop(message.number)
        self._loads[message.worker] -= 1
        self._arrived[message.number] = message.worker, message.outcome

    def _check_workers(self) -> None:
        """Name a worker that is dead, or that has not got on for too long."""
        jobs = {number: job for number, (_, job) in self._under_way.items()}
        for worker, load in enumerate(self._loads):
            reason = self._pool.check(worker)
            if reason is not None:
                self._fail(worker, reason, jobs)
            ticks, _, _ = self._pool.position(worker)
            idle = self._watch.idle_polls(worker, ticks) * POLL_SECONDS
            if load and not self._timeout and idle >= STUCK_SECONDS:
                self._fail(
                    worker,
                    f"has not got on for {STUCK_SECONDS} s",
                    jobs,
                    "; if a sample may take so long, pass timeout= with the seconds a batch may "
                    "take",
                )

    def _fail_slow(self, number: int) -> None:
        worker, job = self._under_way[number]
        self._break(
            f"DataLoader timed out after {self._timeout} seconds: {self._pool.name(worker)} did "
            f"not finish batch {number}; {self._doing(worker, {number: job})}"
        )

    def _fail(self, worker: int, what: str, jobs: dict[int, Job], remedy: str = "") -> None:
        doing = self._doing(worker, jobs)
        self._break(f"DataLoader {self._pool.name(worker)} {what}; {doing}{remedy}")

    def _doing(self, worker: int, jobs: dict[int, Job]) -> str:
        return f"it is number {worker}, {where(self._pool, worker, jobs)}"

    def _break(self, message: str) -> None:
        self._broken = message
        self._keep = False
        self.close()
        raise RuntimeError(message) from None


def _error_of(failure: Failure) -> BaseException:
    """A worker's exception, with the traceback of the other process as its cause."""
    error = failure.error
    if failure.traceback is not None:
        error.__cause__ = WorkerTraceback(failure.traceback)
    return error


def describe_exit(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "is gone"
    if code >= 0:
        return f"exited unexpectedly with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    hint = ", often because memory ran out" if name == "SIGKILL" else ""
    return f"is killed by signal: {-code} ({name}{hint})"
