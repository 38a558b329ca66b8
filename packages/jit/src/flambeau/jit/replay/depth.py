"""Room for the frames of a recorded call, of which each function that is followed takes several."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Frames of a call that is followed, beside which it has one when it is not.
FRAMES_PER_CALL = 6
_changing = threading.Lock()
_open = 0
_before = _raised = 0


@contextmanager
def room_for_frames() -> Iterator[None]:
    """Have functions call each other as deep as they can otherwise."""
    _enter()
    try:
        yield
    finally:
        _exit()


def _enter() -> None:
    global _open, _before, _raised
    with _changing:
        _open += 1
        if _open == 1:
            _before = sys.getrecursionlimit()
            _raised = _before * FRAMES_PER_CALL
            sys.setrecursionlimit(_raised)


def _exit() -> None:
    """The limit is as before, unless the call has set another one."""
    global _open
    with _changing:
        _open -= 1
        if _open == 0 and sys.getrecursionlimit() == _raised:
            sys.setrecursionlimit(_before)
