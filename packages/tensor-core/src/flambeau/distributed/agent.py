"""Processes of one machine: started together, and ended together when one fails."""
from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

GRACE_SECONDS = 30                 # between asking a process to end and ending it


@dataclass
class Plan:
    """What is started, and how."""

    command: list[str]
    count: int
    first_rank: int
    environment: Mapping[str, Any]
    interval: float
    redirects: str
    log_dir: str
    attempt: int
    files: list[IO[bytes]] = field(default_factory=list)


def run_workers(plan: Plan) -> str | None:
    """Start the processes and wait for them.

    Returns:
        None when all have ended well, else which has failed.
    """
    workers = [_started(plan, local) for local in range(plan.count)]
    former = {number: signal.signal(number, _ending) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        return _watched(plan, workers)
    finally:
        _end(workers)
        for number, handler in former.items():
            signal.signal(number, handler)
        for file in plan.files:
            file.close()


def _ending(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _started(plan: Plan, local: int) -> subprocess.Popen[bytes]:
    rank = plan.first_rank + local
    settings = {**plan.environment, "LOCAL_RANK": local, "RANK": rank, "ROLE_RANK": rank}
    environment = {**os.environ, **{key: str(value) for key, value in settings.items()}}
    if plan.count > 1:             # processes that all use all cores would be in each other's way
        environment.setdefault("OMP_NUM_THREADS", "1")
    return subprocess.Popen(plan.command, env=environment, **_outputs(plan, rank))


def _outputs(plan: Plan, rank: int) -> dict[str, Any]:
    """Where a process writes."""
    bits = int(plan.redirects) if plan.redirects.isdigit() else 0
    if not bits:
        return {}
    folder = Path(plan.log_dir or "torchrun-logs", f"attempt_{plan.attempt}", str(rank))
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    for bit, name in ((1, "stdout"), (2, "stderr")):
        if bits & bit:
            file = (folder / f"{name}.log").open("wb")
            plan.files.append(file)
            found[name] = file
    return found


def _watched(plan: Plan, workers: list[subprocess.Popen[bytes]]) -> str | None:
    """Wait until all have ended, or one has failed."""
    while True:
        codes = [worker.poll() for worker in workers]
        for local, code in enumerate(codes):
            if code not in (None, 0):
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                return (f"rank {plan.first_rank + local} (local rank {local}) failed with {how}; "
                        "the other processes were ended")
        if all(code == 0 for code in codes):
            return None
        time.sleep(plan.interval)


def _end(workers: list[subprocess.Popen[bytes]]) -> None:
    """Ask those that still run to end, and end them if they do not."""
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    end = time.monotonic() + GRACE_SECONDS
    for worker in workers:
        try:
            worker.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
