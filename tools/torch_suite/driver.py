"""Runs the tests of one file in child processes, a chunk each, and survives their deaths."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Record = dict[str, Any]


class CannotCollect(RuntimeError):
    """The file could not be imported."""


@dataclass(frozen=True)
class Engine:
    """What `torch` is in the child processes."""

    name: str  # "flambeau" or "torch"
    sources: Path | None  # folder with the `torch/testing` of the tests' version
    limit_s: float = 60.0

    def environment(self) -> dict[str, str]:
        paths = [str(HERE.parent)]
        if self.name == "flambeau":
            paths.insert(0, str(HERE / "shim"))
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTORCH_PRINT_REPRO_ON_FAILURE": "0",
            "PYTORCH_TESTING_DEVICE_ONLY_FOR": "cpu",
            "TORCH_SUITE_SOURCES": str(self.sources or ""),
        }


def collect(engine: Engine, file: Path) -> list[str]:
    """Return the ids of a file's tests."""
    lines, code, log = _child(engine, file, [])
    if code or not lines:
        raise CannotCollect(log)
    return list(lines[-1])


def run(engine: Engine, file: Path, ids: Sequence[str], chunk: int, jobs: int) -> list[Record]:
    """Run tests, `chunk` in a process, `jobs` processes at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        done = pool.map(lambda some: list(_run_chunk(engine, file, some)), chunks(ids, chunk))
        return [record for records in done for record in records]


def sample(ids: Sequence[str], one_in: int, seed: int = 0) -> list[str]:
    """Draw one id in so many by chance, the same ones each time, in their order."""
    drawn = set(random.Random(seed).sample(ids, -(-len(ids) // one_in)))
    return [each for each in ids if each in drawn]


def chunks(ids: Sequence[str], size: int) -> list[list[str]]:
    """Cut ids into lists of at most `size`."""
    return [list(ids[start : start + size]) for start in range(0, len(ids), size)]


def _run_chunk(engine: Engine, file: Path, ids: list[str]) -> Iterator[Record]:
    """Yield a record a test; after a crash the tests behind it go on in a new process."""
    while ids:
        lines, code, log = _child(engine, file, ids)
        yield from (line for line in lines if "id" in line)
        ids, lost = remaining(ids, lines)
        if lost is None:
            yield from _not_started(ids, lines, log)
            return
        yield {"id": lost, "outcome": "failed", "type": "Crash" if code < 0 else "Exit",
               "message": f"the process ended with {code}", "trace": log[-4000:]}


def remaining(ids: Iterable[str], lines: Iterable[Record]) -> tuple[list[str], str | None]:
    """Return the ids that have not run, and the one that ran when the process died."""
    started = [line["start"] for line in lines if "start" in line]
    ended = {line["id"] for line in lines if "id" in line}
    lost = next((each for each in started if each not in ended), None)
    return [each for each in ids if each not in ended and each != lost], lost


def _not_started(ids: Iterable[str], lines: list[Record], log: str) -> Iterator[Record]:
    """Records of tests that did not begin, with the fixture that stopped them."""
    fixtures = [line for line in lines if "fixture" in line]
    for each in ids:
        name = each.partition(".")[0]
        found = next((line for line in fixtures if f"{name})" in line["fixture"]), None)
        yield {"outcome": "failed", "type": "NotRun", "message": "did not start",
               "trace": log[-4000:], **(found or {}), "id": each}


def _child(engine: Engine, file: Path, ids: list[str]) -> tuple[list[Any], int, str]:
    """Run a child; return what it wrote, its exit status and its output."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.jsonl"
        out.touch()
        arguments = [engine.name, str(file), str(out), str(engine.limit_s)]
        process = subprocess.run(
            [sys.executable, "-m", "torch_suite.child", *arguments, str(engine.sources or "")],
            input="\n".join(ids), capture_output=True, text=True, cwd=folder, errors="replace",
            env=engine.environment(),
        )
        lines = [json.loads(line) for line in out.read_text().splitlines()]
    return lines, process.returncode, process.stdout[-2000:] + process.stderr[-6000:]
