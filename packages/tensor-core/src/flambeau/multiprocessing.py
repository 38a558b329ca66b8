"""Python's ``multiprocessing``; tensors that are sent to other processes are copied."""
from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403

from flambeau.core.compat.modules import fill

__all__ = [*_multiprocessing.__all__, *fill(__name__)]  # noqa: PLE0604
