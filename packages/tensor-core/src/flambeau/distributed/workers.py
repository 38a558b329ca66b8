"""What a launcher starts in each process: a command, or a function of the program."""
from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .elastic.multiprocessing.errors import record

#: What stands in a command for the number of the process on its machine.
LOCAL_RANK = "${local_rank}"
Start = Callable[[int, dict[str, str], dict[str, Path]], Any]


def start_command(command: Sequence[str]) -> Start:
    """What starts a command.

    Args:
        command: A program and its arguments.
    """

    def start(local: int, environment: dict[str, str], outputs: dict[str, Path]) -> Any:
        words = [word.replace(LOCAL_RANK, str(local)) for word in command]
        files = {name: path.open("wb") for name, path in outputs.items()}
        try:
            return subprocess.Popen(words, env={**os.environ, **environment},
                                    stdout=files.get("stdout"), stderr=files.get("stderr"))
        finally:
            for file in files.values():
                file.close()

    return start


class _Called:
    """A process that calls a function, as ``agent.Worker`` has it."""

    def __init__(self, process: Any) -> None:
        self.process, self.pid = process, process.pid
        self.terminate, self.kill = process.terminate, process.kill

    def poll(self) -> int | None:
        """How it has ended; None while it runs."""
        code: int | None = self.process.exitcode
        return code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        self.process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired("a function", timeout or 0)
        return code


def start_function(fn: Callable[..., Any], args: Sequence[Any], method: str, folder: str) -> Start:
    """What starts a process that calls a function.

    Args:
        fn: The function, which can be imported by name unless processes are forked.
        args: What it is given.
        method: ``"spawn"``, ``"fork"`` or ``"forkserver"``.
        folder: Where results are left, for ``results_in``.
    """
    context: Any = multiprocessing.get_context(method)

    def start(local: int, environment: dict[str, str], outputs: dict[str, Path]) -> _Called:
        process = context.Process(target=_run, args=(
            fn, tuple(args), environment, outputs, _result_file(folder, local)))
        process.start()
        return _Called(process)

    return start


def _result_file(folder: str, local: int) -> str:
    return os.path.join(folder, f"{local}.pickle")


def results_in(folder: str, count: int) -> list[Any]:
    """What the functions returned, of each process; None where they were commands."""
    found = []
    for path in (_result_file(folder, local) for local in range(count)):
        if os.path.exists(path):
            with open(path, "rb") as file:
                found.append(pickle.load(file))
        else:
            found.append(None)
    return found


def _run(fn: Callable[..., Any], args: tuple[Any, ...], environment: dict[str, str],
         outputs: dict[str, Path], result: str) -> None:
    """What a process does."""
    os.environ.update(environment)
    for name, path in outputs.items():
        with path.open("wb") as file:
            os.dup2(file.fileno(), {"stdout": 1, "stderr": 2}[name])
    found = record(fn)(*args)
    with open(result, "wb") as file:
        pickle.dump(found, file)
