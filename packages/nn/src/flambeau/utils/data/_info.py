"""Which worker runs this code. Apart from the workers, whose modules are slow to import."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

_current = threading.local()


class WorkerInfo(NamedTuple):
    """What ``get_worker_info`` tells a worker about itself.

    Args:
        id: Its number, from 0.
        num_workers: How many there are. With ``shard_iterable=False`` it is 1 for an
            ``IterableDataset``, all of which one worker reads.
        seed: The seed of the default generator when ``worker_init_fn`` runs.
        dataset: The dataset as this worker sees it: a copy in a process, the same in a thread.
        kind: ``"process"`` or ``"thread"``.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    kind: str


def get_worker_info() -> WorkerInfo | None:
    """The worker that runs this code, or ``None`` in any other thread or process.

    Example:
        >>> from flambeau.utils.data import get_worker_info
        >>> get_worker_info() is None
        True
    """
    return getattr(_current, "info", None)


def set_worker_info(info: WorkerInfo | None) -> None:
    """Say who runs this thread."""
    _current.info = info
