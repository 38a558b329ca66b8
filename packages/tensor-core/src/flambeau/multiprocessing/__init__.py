"""Python's ``multiprocessing``, and ``spawn``; tensors that are shared are sent by reference.

``x.share_memory_()`` and ``module.share_memory()`` move tensors to memory that processes share.
Other tensors that are sent are copied.
"""
from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403

from flambeau.core.compat.modules import fill
from flambeau.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = ["ProcessContext", "ProcessExitedException", "ProcessRaisedException",  # noqa: PLE0604
           "SpawnContext", "spawn", "start_processes", *_multiprocessing.__all__,
           *fill(__name__)]
