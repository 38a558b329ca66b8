"""Where in the user's code a call was made."""

from __future__ import annotations

import os
import sys
from functools import cache
from types import FrameType

import flambeau

_ROOMS = tuple(os.path.abspath(path) + os.sep for path in flambeau.__path__)


def caller() -> str:
    """``file:line`` of the innermost frame that is not in this library."""
    frame: FrameType = sys._getframe(1)
    while is_ours(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@cache
def is_ours(filename: str) -> bool:
    """Whether a file belongs to this library."""
    return os.path.abspath(filename).startswith(_ROOMS)
