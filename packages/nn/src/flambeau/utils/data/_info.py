"""Which worker runs this code. Apart from the workers, whose modules are slow to import."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

_current = threading.local()


class WorkerInfo(NamedTuple):
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
