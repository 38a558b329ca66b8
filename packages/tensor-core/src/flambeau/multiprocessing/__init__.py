"""Python's ``multiprocessing``, and ``spawn``; tensors that are shared are sent by reference.

``x.share_memory_()`` and ``module.share_memory()`` move tensors to memory that processes share.
After this import tensors are moved there when they are sent to a process: what one process writes,
the others see. Memory that is an array's, or that an array shows, is copied.
"""
from __future__ import annotations

import multiprocessing as _multiprocessing
import multiprocessing.connection
from multiprocessing import *  # noqa: F403

from flambeau.core.compat.modules import fill
from flambeau.multiprocessing.reductions import init_reductions
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

init_reductions()
