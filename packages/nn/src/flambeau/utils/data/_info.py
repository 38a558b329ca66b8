"""Which worker runs this code. Apart from the workers, whose modules are slow to import."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

_current = threading.local()


@dataclass(frozen=True)
class WorkerInfo:
    """What ``get_worker_info`` tells a worker about itself."""

    id: int
    num_workers: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """The worker that runs this code, or ``None`` in any other thread.

    Example:
        >>> get_worker_info() is None
        True
    """
    return getattr(_current, "info", None)


def set_worker_info(info: WorkerInfo) -> None:
    """Say who runs this thread."""
    _current.info = info
