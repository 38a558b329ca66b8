"""Where in the user's code a call was made."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any

import flambeau

_ROOMS = tuple(os.path.abspath(path) + os.sep for path in flambeau.__path__)


def caller() -> str:
    """``file:line`` of the innermost frame that is not in this library."""
    frame = caller_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def caller_frame() -> FrameType:
    """The innermost frame that is not in this library."""
    frame: FrameType = sys._getframe(1)
    while is_ours(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return frame


@cache
def is_ours(filename: str) -> bool:
    """Whether a file belongs to this library."""
    return os.path.abspath(filename).startswith(_ROOMS)


def location(fn: Callable[..., Any]) -> str:
    """``file:line`` of a function, or of a module's ``forward``."""
    code = getattr(fn, "__code__", None) or getattr(getattr(fn, "forward", None), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(fn)
