"""Starting several processes that run one function, and waiting for them."""
from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException",
           "ProcessRaisedException", "SpawnContext", "spawn", "start_processes"]


class ProcessException(Exception):
    """A process failed.

    Attributes:
        error_index: Which of the processes.
        pid: Its number in the system.
    """

    def __init__(self, msg: str, error_index: int, pid: int | None) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process ended with an exception of Python, whose traceback is in the message."""

    def __init__(self, msg: str, error_index: int, error_pid: int | None) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process ended otherwise.

    Attributes:
        exit_code: As ``Process.exitcode``: negative for a signal.
        signal_name: The name of that signal, or None.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int | None, exit_code: int,
                 signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code,
                            self.signal_name)


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], path: str) -> None:
    """What a process does: call, and leave the traceback of an exception in a file."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass    # whoever started this process was interrupted as well
    except Exception:
        with open(path, "w", encoding="utf-8") as file:
            file.write(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that run, as ``start_processes(..., join=False)`` gives them.

    Attributes:
        processes: The processes, in order.
    """

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The numbers of the processes in the system."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends; when one failed, end the others and raise.

        Args:
            timeout: Most seconds to wait; None for no limit.
            grace_period: Seconds that others have to end, before they are ended.

        Returns:
            Whether all have ended.

        Raises:
            ProcessRaisedException: One raised.
            ProcessExitedException: One was killed, or called ``sys.exit`` with a failure.
        """
        if not self.sentinels:
            return True
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode:
                self._end_others(grace_period)
                self._raise(index)
        return not self.sentinels

    def _end_others(self, grace_period: float | None) -> None:
        limit = time.monotonic() + (grace_period or 0)
        for process in self.processes:
            if grace_period is not None:
                process.join(max(limit - time.monotonic(), 0))
            if process.is_alive():
                process.terminate()
        limit = time.monotonic() + (30 if grace_period is None else grace_period)
        for process in self.processes:
            process.join(max(limit - time.monotonic(), 0.1))
            if process.is_alive():
                process.kill()
            process.join()
        self.sentinels.clear()

    def _raise(self, index: int) -> None:
        process, path = self.processes[index], self.error_files[index]
        if os.path.getsize(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self._remove_files()
            raise ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}", index,
                process.pid)
        self._remove_files()
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(f"process {index} terminated with signal {name}", index,
                                         process.pid, code, name)
        raise ProcessExitedException(f"process {index} terminated with exit code {code}", index,
                                     process.pid, code)

    def _remove_files(self) -> None:
        for path in self.error_files:
            if os.path.exists(path):
                os.unlink(path)
        self.error_files = []

    def __del__(self) -> None:
        self._remove_files()


#: PyTorch's older name.
SpawnContext = ProcessContext


def start_processes(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1,
                    join: bool = True, daemon: bool = False,
                    start_method: str = "spawn") -> ProcessContext | None:
    """Run ``fn(i, *args)`` in processes numbered ``i`` from 0.

    Args:
        fn: A function that can be imported by name, unless processes are forked.
        args: What it is given behind its number. Tensors that are shared are shared with it.
        nprocs: How many processes.
        join: Whether to wait for all.
        daemon: Whether they end with this process.
        start_method: ``"spawn"``, ``"fork"`` or ``"forkserver"``.

    Returns:
        The processes if ``join`` is False, else None.

    Raises:
        ProcessRaisedException: One raised, and ``join`` is True; the others are ended.
        ProcessExitedException: One was killed or exited with a failure, likewise.
    """
    context = multiprocessing.get_context(start_method)
    processes, files = [], []
    for index in range(nprocs):
        descriptor, path = tempfile.mkstemp(prefix="flambeau-process-")
        os.close(descriptor)
        files.append(path)
        process = context.Process(  # type: ignore[attr-defined]  # every context has it
            target=_run, args=(fn, index, args, path), daemon=daemon)
        process.start()
        processes.append(process)
    running = ProcessContext(processes, files)
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
          daemon: bool = False, start_method: str = "spawn") -> ProcessContext | None:
    """``start_processes`` with new interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
