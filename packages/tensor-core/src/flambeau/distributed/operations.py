"""What can be asked of a store: functions of its values, a key and arguments.

They are what a store runs while it has its values to itself: under a lock, in a locked file, or in
the process that serves them.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Values = dict[str, bytes]


def put(values: Values, key: str, value: bytes) -> None:
    """Set a value."""
    values[key] = value


def find(values: Values, key: str) -> bytes | None:
    """The value, if there is one."""
    return values.get(key)


def add(values: Values, key: str, amount: int) -> int:
    """Add to a number, which is 0 where it is not there."""
    total = int(values.get(key, b"0")) + amount
    values[key] = b"%d" % total
    return total


def compare_set(values: Values, key: str, expected: bytes, desired: bytes) -> bytes:
    """Set a value where the present one, or none, is as expected; what is there then."""
    if values.get(key, b"") == expected:
        values[key] = desired
    return values.get(key, expected)


def append(values: Values, key: str, value: bytes) -> None:
    """Add to the end of a value."""
    values[key] = values.get(key, b"") + value


def delete(values: Values, key: str) -> bool:
    """Forget a key."""
    return values.pop(key, None) is not None


def count(values: Values, key: str) -> int:
    """How many keys there are."""
    return len(values)


OPERATIONS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (put, find, add, compare_set, append, delete, count)}
