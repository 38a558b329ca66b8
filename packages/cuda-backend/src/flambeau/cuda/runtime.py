"""Which backend ``flambeau.cuda`` speaks of, and the current device of each thread."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau.core import _core, backends

_chosen = ["cuda"]
_current = threading.local()


def device_type() -> str:
    """``"cuda"``, or the type that takes its place."""
    return _chosen[-1]


def is_replaced() -> bool:
    """Whether another backend is registered instead of NVIDIA's."""
    found = backends._adapters.get("cuda")
    return found is not None and not hasattr(found, "xp")


@contextmanager
def speaking_of(name: str) -> Iterator[None]:
    """Let the functions of ``flambeau.cuda`` speak of another device type, as of the simulation."""
    backends.adapter(name)
    _chosen.append(name)
    try:
        yield
    finally:
        _chosen.pop()


def backend(name: str | None = None) -> Any:
    """The backend of a device type.

    Raises:
        RuntimeError: it cannot be used; the text says why.
    """
    name = name or device_type()
    if name == "cuda" and not is_replaced():
        from flambeau.cuda import backend as nvidia

        nvidia()
    return backends.adapter(name)


def current_index(name: str | None = None) -> int:
    """Number of the calling thread's current device."""
    return int(getattr(_current, name or device_type(), 0))


def set_current(index: int, name: str | None = None) -> int:
    """Choose the calling thread's current device; returns the one before."""
    name = name or device_type()
    before, count = current_index(name), backend(name).device_count()
    if not 0 <= index < count:
        raise RuntimeError(f"there is no device '{name}:{index}': this machine has {count}, "
                           f"numbered from 0; give a number below {count}")
    setattr(_current, name, index)
    _core.set_current_index(index)
    backend(name).enter(index)
    return before


def place(device: Any = None) -> tuple[Any, int]:
    """Backend and number of a device.

    Args:
        device: Its number, a device such as ``"cuda:1"``, or None for the current one.

    Raises:
        ValueError: it is no GPU.
    """
    if device is None:
        return backend(), current_index()
    if isinstance(device, int) and not isinstance(device, bool):
        found, index = backend(), device if device >= 0 else current_index()
    else:
        where = flambeau.device(device)
        if where.type in ("cpu", "meta"):
            raise ValueError(f"expected a {device_type()} device, but got {str(where)!r}; give a "
                             f"number or '{device_type()}:0'")
        found = backend(where.type)
        index = current_index(where.type) if where.index is None or ":" not in str(device) \
            else where.index
    count = found.device_count()
    if index >= count:
        raise RuntimeError(f"there is no device '{found.name}:{index}': this machine has {count}")
    return found, index
