"""Streams and events of the CPU, which stand for the order that holds in any case."""
from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "stream"]


class Event:
    """A point in a stream, which is reached when it is asked for."""

    def record(self, stream: Stream | None = None) -> None:
        """Do nothing: all before it is done."""

    def query(self) -> bool:
        """Whether all before it is done: always."""
        return True

    wait = record

    def synchronize(self) -> None:
        """Return at once."""


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


class StreamContext(nullcontext[None]):
    """A ``with`` block whose operators run on a stream, which makes no difference here."""

    def __init__(self, stream: Stream | None) -> None:
        super().__init__()
        self.stream = stream


_CURRENT = Stream()


def stream(stream: Stream | None) -> AbstractContextManager[None]:
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
