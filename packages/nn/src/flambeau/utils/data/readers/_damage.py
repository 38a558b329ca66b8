"""The error of every reader: which file, at which byte, what is wrong."""

from __future__ import annotations

from typing import Any, NoReturn

from flambeau.core.io import FileError


def fail(path: Any, offset: int, what: str) -> NoReturn:
    """Raise the error for a position in a file."""
    raise FileError(f"{path}, byte {offset}: {what}")
