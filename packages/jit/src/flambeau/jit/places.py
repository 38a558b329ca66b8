"""Where in the user's code a call was made."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import flambeau

_ROOMS = tuple(str(Path(path).resolve()) for path in flambeau.__path__)


def caller() -> str:
    """``file:line`` of the innermost frame that is not in this library."""
    frame: FrameType | None = sys._getframe(1)
    last = ""
    while frame is not None:
        last = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if not is_ours(frame.f_code.co_filename):
            return last
        frame = frame.f_back
    return last


def is_ours(filename: str) -> bool:
    """Whether a file belongs to this library."""
    return filename.startswith(_ROOMS) or "flambeau/core/" in filename
