"""The error of every file format."""
from __future__ import annotations

from types import BuiltinFunctionType, FunctionType
from typing import NoReturn


class FileError(ValueError):
    """A file that is not what it should be; the text says where."""


def fail(what: str) -> NoReturn:
    """Raise a ``FileError`` of ``load``."""
    raise FileError(f"load(): {what}")


def shown(value: object) -> str:
    """A short text of a value of a file, which may hold itself many times over.

    Args:
        value: Anything; containers are shown with their first items, by type where those are no
            numbers or strings.
    """
    if isinstance(value, tuple | list) and not isinstance(value, str):
        items = [_scalar(item) for item in value[:8]]
        return f"({', '.join(items)}{', ...' if len(value) > 8 else ''})"
    return _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    if value is None or type(value) in (int, bool, float, complex):
        return repr(value)
    if type(value) in (str, bytes):
        return repr(value[:80])     # type: ignore[index]  # one of the two
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return value.__qualname__
    return f"a {type(value).__name__}"
