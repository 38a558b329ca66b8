"""Stores of keys and values, through which processes find each other.

A key is text, a value bytes. `get` and `wait` wait for a key that is not there yet.
"""
from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .operations import OPERATIONS, Values

__all__ = ["DEFAULT_TIMEOUT", "DistStoreError", "FileStore", "HashStore", "PrefixStore", "Store"]

DEFAULT_TIMEOUT = timedelta(seconds=300)
POLL_SECONDS = 0.01
_SIZES = struct.Struct("<qq")      # of a key and its value in a file; -1: the key was deleted


class DistStoreError(RuntimeError):
    """A key did not come in time, or the store is gone."""


class Store:
    """What all stores have; a kind of store says how an operation reaches its values."""

    #: Where other processes reach this one, as far as the store can tell.
    local_address = "127.0.0.1"

    def __init__(self, timeout: timedelta = DEFAULT_TIMEOUT) -> None:
        self.timeout = timeout

    def _do(self, operation: str, key: str, *args: Any) -> Any:
        """Run one of `OPERATIONS`, while nobody else does."""
        raise NotImplementedError

    def _get(self, key: str, seconds: float) -> bytes | None:
        """Wait for a value; None where it does not come in time."""
        end = time.monotonic() + seconds
        while (value := self._do("find", key)) is None and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
        return value

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait."""
        self.timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Set a value."""
        self._do("put", key, _as_bytes(value))

    def get(self, key: str) -> bytes:
        """Wait for a value.

        Raises:
            DistStoreError: It did not come in time.
        """
        return self._waited(key, self.timeout.total_seconds())

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there.

        Raises:
            DistStoreError: They did not come in time.
        """
        end = time.monotonic() + (timeout or self.timeout).total_seconds()
        for key in keys:
            self._waited(key, max(0.0, end - time.monotonic()))

    def _waited(self, key: str, seconds: float) -> bytes:
        value = self._get(key, seconds)
        if value is None:
            raise DistStoreError(
                f"wait timeout after {seconds:.1f} s: no process has set {key!r}; did all start, "
                "with the same address and world size?")
        return value

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, 0 where it is not there; return the sum."""
        return self._do("add", key, amount)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there."""
        return all(self._do("find", key) is not None for key in keys)

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """Set a value where the present one is as expected; return what is there then."""
        return self._do("compare_set", key, _as_bytes(expected_value),
                        _as_bytes(desired_value))

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a value."""
        self._do("append", key, _as_bytes(value))

    def delete_key(self, key: str) -> bool:
        """Forget a key; return whether it was there."""
        return self._do("delete", key)

    def num_keys(self) -> int:
        """How many keys there are."""
        return self._do("count", "")

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Wait for several values."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Return True: `append`, `multi_get` and `multi_set` are there."""
        return True


def _as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class HashStore(Store):
    """A store for the threads of one process.

    Example:
        >>> from flambeau.distributed import HashStore
        >>> store = HashStore()
        >>> store.set("name", "ada")
        >>> store.get("name"), store.add("count", 2), store.add("count", 3)
        (b'ada', 2, 5)
    """

    def __init__(self, timeout: timedelta = DEFAULT_TIMEOUT) -> None:
        super().__init__(timeout)
        self._values: Values = {}
        self._changed = threading.Condition()

    def _do(self, operation: str, key: str, *args: Any) -> Any:
        with self._changed:
            result = OPERATIONS[operation](self._values, key, *args)
            self._changed.notify_all()
            return result

    def _get(self, key: str, seconds: float) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: key in self._values, seconds)
            return self._values.get(key)


class PrefixStore(Store):
    """The keys of another store that begin with a prefix.

    Args:
        prefix: What is put in front of each key.
        store: The other store.
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__(store.timeout)
        self.prefix = prefix
        self.underlying_store = store
        self.local_address = store.local_address

    def _do(self, operation: str, key: str, *args: Any) -> Any:
        return self.underlying_store._do(operation, f"{self.prefix}/{key}", *args)

    def _get(self, key: str, seconds: float) -> bytes | None:
        return self.underlying_store._get(f"{self.prefix}/{key}", seconds)


class FileStore(Store):
    """A store in a file that all processes see, of which changes are added to the end.

    Args:
        file_name: The file, which need not exist. Each run needs one that no other run used.
        world_size: Accepted for compatibility.
        timeout: How long `get` and `wait` wait.
    """

    def __init__(self, file_name: str | os.PathLike[str], world_size: int = -1,
                 timeout: timedelta = DEFAULT_TIMEOUT) -> None:
        super().__init__(timeout)
        self.path = os.fspath(file_name)

    def _do(self, operation: str, key: str, *args: Any) -> Any:
        import fcntl

        handle = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        with open(handle, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            values = _read(file.read())
            before = values.get(key)
            result = OPERATIONS[operation](values, key, *args)
            after = values.get(key)
            if after != before:
                size, name = -1 if after is None else len(after), key.encode()
                file.write(_SIZES.pack(len(name), size) + name + (after or b""))
            return result


def _read(content: bytes) -> Values:
    """The values after all changes that a file lists."""
    values: Values = {}
    at = 0
    while at < len(content):
        key_size, value_size = _SIZES.unpack_from(content, at)
        at += _SIZES.size
        key = content[at:at + key_size].decode()
        at += key_size
        if value_size < 0:
            del values[key]
        else:
            values[key] = content[at:at + value_size]
            at += value_size
    return values
