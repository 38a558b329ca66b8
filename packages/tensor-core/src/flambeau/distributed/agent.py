"""Processes of one machine: started together, and ended together when one fails."""
from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from .elastic.multiprocessing.errors import ProcessFailure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .elastic.multiprocessing import LogsSpecs


class Worker(Protocol):
    """A process that runs."""

    pid: int

    def poll(self) -> int | None:
        """How it has ended; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raises ``subprocess.TimeoutExpired``."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it."""


@dataclass
class Plan:
    """What is started, and how.

    Args:
        start: Starts one, given its local rank, its environment, and files for its output.
        count: How many processes.
        first_rank: The rank of the first.
        environment: Of all; ranks are added.
        interval: Seconds between looks at them.
        logs: Where their output goes.
        attempt: How often all have begun before.
        patience: Seconds between asking a process to end and ending it.
    """

    start: Callable[[int, dict[str, str], dict[str, Path]], Worker]
    count: int
    first_rank: int
    environment: Mapping[str, Any]
    interval: float
    logs: LogsSpecs
    attempt: int
    patience: float


def run_workers(plan: Plan) -> dict[int, ProcessFailure]:
    """Start the processes and wait for them.

    Returns:
        Those that have failed, by rank; none when all have ended well.
    """
    workers: list[Worker] = []
    with tempfile.TemporaryDirectory(prefix="flambeau-launch-") as folder, _signals_end():
        try:
            for local in range(plan.count):
                workers.append(_started(plan, local, folder))
            return _watched(plan, workers, folder)
        finally:
            _end(workers, plan.patience)


@contextmanager
def _signals_end() -> Iterator[None]:
    """A block that signals end by an exception, so that the processes are ended, too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.signal(number, _ending) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _ending(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _error_file(folder: str, local: int) -> str:
    return os.path.join(folder, f"{local}.json")


def _started(plan: Plan, local: int, folder: str) -> Worker:
    rank = plan.first_rank + local
    settings = {**plan.environment, "LOCAL_RANK": local, "RANK": rank, "ROLE_RANK": rank,
                "TORCHELASTIC_ERROR_FILE": _error_file(folder, local)}
    environment = {key: str(value) for key, value in settings.items()}
    return plan.start(local, environment, plan.logs.files(plan.attempt, local))


def _watched(plan: Plan, workers: list[Worker], folder: str) -> dict[int, ProcessFailure]:
    """Wait until all have ended, or one has failed."""
    while True:
        codes = [worker.poll() for worker in workers]
        failed = {plan.first_rank + local: ProcessFailure(
            local, workers[local].pid, code, _error_file(folder, local))
            for local, code in enumerate(codes) if code}
        if failed or all(code == 0 for code in codes):
            return failed
        time.sleep(plan.interval)


def _end(workers: list[Worker], patience: float) -> None:
    """Ask those that still run to end, and end them if they do not."""
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    end = time.monotonic() + patience
    for worker in workers:
        try:
            worker.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
