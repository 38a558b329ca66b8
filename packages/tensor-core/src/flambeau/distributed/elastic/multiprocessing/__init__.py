"""Processes that the launcher starts, and where their output goes."""
from __future__ import annotations

from enum import IntFlag
from pathlib import Path

__all__ = ["DefaultLogsSpecs", "LogsSpecs", "Std"]


class Std(IntFlag):
    """Streams of a process's output."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """Streams from text.

        Args:
            vm: A number for all processes, or numbers by local rank: ``"0:1,1:3"``.

        Raises:
            ValueError: The text is neither.
        """
        try:
            if ":" not in vm:
                return cls(int(vm))
            pairs = (pair.split(":") for pair in vm.split(","))
            return {int(rank): cls(int(streams)) for rank, streams in pairs}
        except ValueError:
            raise ValueError(f"Std.from_str(): {vm!r}; write a number from 0 to 3, or numbers by "
                             "local rank: 0:1,1:3") from None


class LogsSpecs:
    """Where the output of processes goes.

    Args:
        log_dir: The folder of the files; ``torchrun-logs`` by default.
        redirects: Which streams are written to files instead of the terminal: for all processes,
            or by local rank.
    """

    def __init__(self, log_dir: str | None = None,
                 redirects: Std | dict[int, Std] = Std.NONE) -> None:
        self.root_log_dir, self._redirects = log_dir, redirects

    def files(self, attempt: int, local: int) -> dict[str, Path]:
        """The files of one process, by stream.

        Args:
            attempt: How often all have begun before.
            local: The process's local rank.
        """
        chosen = self._redirects
        streams = chosen.get(local, Std.NONE) if isinstance(chosen, dict) else chosen
        folder = Path(self.root_log_dir or "torchrun-logs", f"attempt_{attempt}", str(local))
        if streams:
            folder.mkdir(parents=True, exist_ok=True)
        return {name: folder / f"{name}.log" for bit, name in (
            (Std.OUT, "stdout"), (Std.ERR, "stderr")) if streams & bit}


class DefaultLogsSpecs(LogsSpecs):
    """The same."""
