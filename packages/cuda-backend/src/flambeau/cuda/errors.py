"""Errors of devices, and where in a program what failed was asked for."""
from __future__ import annotations

import os
import sys
from typing import Any

from flambeau.core.homes import is_own


class OutOfMemoryError(MemoryError, RuntimeError):
    """A device has no memory for a tensor; the text says what holds it."""


class AcceleratorError(RuntimeError):
    """A kernel or a copy failed on the device."""


class DeferredCudaCallError(Exception):
    """A call that waited for the device to be used first failed."""


#: Statuses after which a device answers every call with the same error.
LOST = {700: "a kernel read or wrote memory that is not its own", 214: "its memory has an error",
        702: "a kernel ran too long", 718: "a kernel jumped out of its code", 719: "it was lost",
        46: "it is busy or was taken away", 999: "the driver does not know why"}


def is_blocking() -> bool:
    """Whether ``FLAMBEAU_CUDA_BLOCKING`` makes every call wait for its kernel."""
    return os.environ.get("FLAMBEAU_CUDA_BLOCKING", "") not in ("", "0")


def caller() -> str:
    """``file.py:12``: the line of the program that runs, outside of this package."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if not is_own(frame.f_globals):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return "an unknown line"


def explain(device: str, status: int, what: str, text: str) -> str:
    """What a status means: who asked, and what to do."""
    words = f"{what} failed on device '{device}': {text}"
    if is_blocking():
        words += f"; asked for at {caller()}"
    else:
        words += (". Kernels run beside the program: an earlier call may have failed. Run it with "
                  "FLAMBEAU_CUDA_BLOCKING=1 to see which, and its line")
    if status in LOST:
        words += (f". The device cannot be used by this process any more ({LOST[status]}): start "
                  "it anew from its last checkpoint")
    return words
