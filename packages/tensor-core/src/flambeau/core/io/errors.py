"""The error of every file format."""
from __future__ import annotations

from typing import NoReturn


class FileError(ValueError):
    """A file that is not what it should be; the text says where."""


def fail(what: str) -> NoReturn:
    """Raise a ``FileError`` of ``load``."""
    raise FileError(f"load(): {what}")
