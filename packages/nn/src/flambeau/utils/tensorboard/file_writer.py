"""``FileWriter``: events in one file, through the package tensorboard."""

from __future__ import annotations

import os
import time
from typing import Any

try:
    from tensorboard.compat.proto import event_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "flambeau.utils.tensorboard writes through the package tensorboard; install it with "
        "pip install 'flambeau-nn[tensorboard]'"
    ) from error


class FileWriter:
    """Writes events to one file of a folder.

    Args:
        log_dir: The folder.
        max_queue: How many events wait before they are written.
        flush_secs: How long they wait, in seconds.
        filename_suffix: What the file's name ends in.
    """

    def __init__(
        self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        self.event_writer = EventFileWriter(
            os.fspath(log_dir), max_queue, flush_secs, filename_suffix
        )

    def get_logdir(self) -> str:
        """The folder."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Write a summary."""
        self.add_event(event_pb2.Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write what waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.event_writer.close()
