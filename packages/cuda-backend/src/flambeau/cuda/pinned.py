"""Page-locked memory of the host: copies between it and a device go on beside the program."""
from __future__ import annotations

import bisect
import ctypes
import threading
import weakref
from typing import Any

from flambeau.cuda import _launch

_lock = threading.Lock()
_begins: list[int] = []
_sizes: dict[int, int] = {}
#: Memory that copies may still read or write: events, and what they keep.
_busy: list[tuple[Any, Any]] = []


def allocate(device_type: int, nbytes: int) -> Any:
    """Memory as an object with the buffer protocol, freed with the last that uses it."""
    address = _launch.pin(device_type, 0, max(nbytes, 1))
    memory = (ctypes.c_char * max(nbytes, 1)).from_address(address)
    with _lock:
        bisect.insort(_begins, address)
        _sizes[address] = max(nbytes, 1)
    weakref.finalize(memory, _free, device_type, address).atexit = False
    return memory


def _free(device_type: int, address: int) -> None:
    with _lock:
        _begins.remove(address)
        del _sizes[address]
    _launch.unpin(device_type, 0, address)


def is_pinned(address: int) -> bool:
    """Whether memory at an address is page-locked."""
    with _lock:
        at = bisect.bisect_right(_begins, address) - 1
        return at >= 0 and address < _begins[at] + _sizes[_begins[at]]


def bytes_in_use() -> int:
    """Bytes of all page-locked memory."""
    return sum(_sizes.values())


def keep_until_done(tensor: Any, stream: Any) -> None:
    """Keep a tensor's memory until a stream has done what it was asked so far."""
    _busy[:] = [(event, kept) for event, kept in _busy if not event.query()]
    _busy.append((stream.record_event(), tensor))

