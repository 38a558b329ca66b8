"""The CPU as a device like others, for programs that ask ``getattr(flambeau, device.type)``.

Operators run in the calling thread and are done when they return, so that there is nothing to wait
for: streams and events stand for the order that holds in any case.
"""
from __future__ import annotations

from types import TracebackType
from typing import Any

from flambeau.cpu import amp

__all__ = ["Event", "Stream", "StreamContext", "amp", "current_device", "current_stream",
           "device_count", "is_available", "is_initialized", "set_device", "stream", "synchronize"]


class Stream:
    """What operators run on: one after the other."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def record_event(self) -> Event:
        """An event that has happened already."""
        return Event()

    def wait_event(self, event: Event) -> None:
        """Return at once: the event has happened."""

    def wait_stream(self, stream: Stream) -> None:
        """Return at once: what ran there is done."""


class Event:
    """A point in a stream, which is reached when it is asked for."""

    def record(self, stream: Stream | None = None) -> None:
        """Do nothing: all before it is done."""

    def query(self) -> bool:
        """Whether all before it is done: always."""
        return True

    def wait(self, stream: Stream | None = None) -> None:
        """Return at once."""

    def synchronize(self) -> None:
        """Return at once."""


_CURRENT = Stream()


class StreamContext:
    """A ``with`` block whose operators run on a stream, which makes no difference here."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        pass


def stream(stream: Stream | None) -> StreamContext:
    """A ``with`` block whose operators run on a stream.

    Args:
        stream: Any; operators run one after the other.
    """
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The one stream that there is.

    Args:
        device: The CPU, by whatever name.
    """
    return _CURRENT


def is_available() -> bool:
    """Whether tensors can live on the CPU: they can."""
    return True


def is_initialized() -> bool:
    """Whether the CPU is ready: it is."""
    return True


def device_count() -> int:
    """How many CPUs there are as devices.

    Example:
        >>> import flambeau
        >>> flambeau.cpu.device_count(), flambeau.cpu.current_device()
        (1, 'cpu')
    """
    return 1


def current_device() -> str:
    """Name of the device: ``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Do nothing: there is one CPU.

    Args:
        device: The CPU, by whatever name.
    """


def synchronize(device: Any = None) -> None:
    """Return at once: operators are done when they return.

    Args:
        device: The CPU, by whatever name.
    """
