"""Streams and events of whatever GPU there is: ``flambeau.Stream``, ``flambeau.Event``."""
from __future__ import annotations

from typing import Any

from flambeau import rooms

__all__ = ["Event", "Stream"]


class _OfTheGpu(type):
    """The type of classes whose objects are made by the class of this name that the GPU has."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if cls is Event:            # which belongs to the device of the stream that records it
            options.pop("device", None)
            args = args[1:]
        if cls in (Event, Stream):
            return getattr(rooms.gpu(), cls.__name__)(*args, **options)
        return super().__call__(*args, **options)


class Stream(metaclass=_OfTheGpu):
    """A queue of work of a GPU: ``flambeau.cuda.Stream``, which derives from this.

    Args:
        device: Where it works; the current GPU when left out.
        priority: Lower numbers are served first, 0 is the default.

    Raises:
        RuntimeError: there is no GPU.

    Example:
        >>> import flambeau
        >>> isinstance(flambeau.ones(1), flambeau.Stream)
        False
    """


class Event(metaclass=_OfTheGpu):
    """A place in a stream of a GPU: ``flambeau.cuda.Event``, which derives from this.

    Args:
        device: Accepted for compatibility: that of the stream which records it counts.
        enable_timing: Whether ``elapsed_time`` will be asked.

    Example:
        >>> import flambeau
        >>> isinstance(flambeau.ones(1), flambeau.Event)
        False
    """
