"""Errors of processes that the launcher starts."""
from __future__ import annotations

import functools
import json
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

__all__ = ["ChildFailedError", "ProcessFailure", "record"]

F = TypeVar("F", bound=Callable[..., Any])
_NOTHING = "<N/A>"
_WIDTH = 60


def record(fn: F, error_handler: Any = None) -> F:
    """Have a program's main function write its error where ``TORCHELASTIC_ERROR_FILE`` says.

    Args:
        fn: The function.
        error_handler: Accepted for compatibility.

    Example:
        >>> from flambeau.distributed.elastic.multiprocessing.errors import record
        >>> @record
        ... def main():
        ...     return 1
        >>> main()
        1
    """
    @functools.wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            _write(error)
            raise

    return recorded  # type: ignore[return-value]


def _write(error: Exception) -> None:
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if path:
        told = {"message": f"{type(error).__name__}: {error}",
                "extraInfo": {"py_callstack": traceback.format_exc(),
                              "timestamp": str(int(time.time()))}}
        with open(path, "w") as file:
            json.dump({"message": told}, file)


@dataclass
class ProcessFailure:
    """A process that failed.

    Args:
        local_rank: Its number on its machine.
        pid: Its number in the system.
        exitcode: How it ended; negative for a signal.
        error_file: Where ``record`` wrote its error, if it did.
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(init=False)
    message: Any = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self.error_file_data, self.timestamp = {}, int(time.time())
        self.message = self.how()
        try:
            with open(self.error_file) as file:
                self.error_file_data = json.load(file)
        except (OSError, ValueError):       # the program records no errors, or was killed
            self.error_file = _NOTHING
            return
        self.message = self.error_file_data["message"]
        self.timestamp = int(self.message["extraInfo"]["timestamp"])

    def how(self) -> str:
        """How it ended, in words."""
        code = self.exitcode
        return f"signal {-code} ({self.signal_name()})" if code < 0 else f"exit code {code}"

    def signal_name(self) -> str:
        """The name of the signal that ended it."""
        return signal.Signals(-self.exitcode).name if self.exitcode < 0 else _NOTHING

    def timestamp_isoformat(self) -> str:
        """When it failed."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


class ChildFailedError(Exception):
    """Processes of a run failed.

    Attributes:
        name: What they ran.
        failures: Those that failed, by rank.
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        if not failures:
            raise ValueError("ChildFailedError(): at least one process must have failed")
        self.name, self.failures = name, failures
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank of the process that failed first, and its failure."""
        return min(self.failures.items(), key=lambda pair: pair[1].timestamp)

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        """All failures as text.

        Args:
            boarder_delim: What lines above and below are made of.
            section_delim: What the line between is made of.
        """
        first, _ = self.get_first_failure()
        others = [rank for rank in self.failures if rank != first]
        lines = [boarder_delim * _WIDTH, f"{self.name} FAILED", section_delim * _WIDTH, "Failures:"]
        for number, rank in enumerate(others, 1):
            lines += self._told(number, rank)
        if not others:
            lines.append("  <NO_OTHER_FAILURES>")
        lines += [section_delim * _WIDTH, "Root Cause (first observed failure):",
                  *self._told(0, first), boarder_delim * _WIDTH]
        return "\n" + "\n".join(lines)

    def _told(self, number: int, rank: int) -> list[str]:
        failure = self.failures[rank]
        trace = failure.message if isinstance(failure.message, str) else \
            failure.message["extraInfo"]["py_callstack"]
        facts = {"time": failure.timestamp_isoformat(), "host": socket.getfqdn(),
                 "rank": f"{rank} (local_rank: {failure.local_rank})",
                 "exitcode": f"{failure.exitcode} (pid: {failure.pid})",
                 "error_file": failure.error_file, "traceback": trace.replace("\n", "\n  ")}
        return [f"[{number}]:", *(f"  {name:<10}: {value}" for name, value in facts.items())]
