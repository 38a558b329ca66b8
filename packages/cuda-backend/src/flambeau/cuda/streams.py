"""Streams, events, and which stream a thread works on."""
from __future__ import annotations

import weakref
from typing import Any

import flambeau.cuda._launch as _launch
import flambeau.cuda.runtime as runtime
from flambeau.core import streams

__all__ = ["Event", "ExternalStream", "Stream", "StreamContext", "current_stream",
           "default_stream", "get_stream_from_external", "set_stream", "stream"]


class Stream(streams.Stream):
    """A queue of work: what one is asked happens in order, and beside what others are asked.

    Used as a context, it is the current stream of its device, on which tensors are allocated and
    kernels run. Let others wait for it by events, ``wait_stream`` or ``synchronize``.

    Args:
        device: Where it works; the current device when left out.
        priority: Lower numbers are served first, 0 is the default.

    Example:
        >>> import flambeau.cuda
        >>> side = flambeau.cuda.Stream()               # doctest: +SKIP
        >>> with flambeau.cuda.stream(side):            # doctest: +SKIP
        ...     y = x * 2
        >>> flambeau.cuda.current_stream().wait_stream(side)    # doctest: +SKIP
    """

    def __init__(self, device: Any = None, priority: int = 0, **options: Any) -> None:
        self._backend, self.device_index = runtime.place(device)
        self.priority = priority
        address = options.pop("stream_ptr", None)
        if options:
            raise TypeError(f"Stream(): unexpected arguments {sorted(options)}; give device and "
                            "priority")
        if address is None:
            address = _launch.make_stream(*self._at, priority % (1 << 64))
            weakref.finalize(self, _launch.drop_stream, *self._at, address).atexit = False
        self.cuda_stream = int(address)
        self._outer: list[tuple[int, int]] = []

    @property
    def _at(self) -> tuple[int, int]:
        return self._backend.device_type, self.device_index

    @property
    def device(self) -> Any:
        """Where it works."""
        import flambeau

        return flambeau.device(self._backend.name, self.device_index)

    @property
    def stream_id(self) -> int:
        """A number of its own."""
        return self.cuda_stream

    @property
    def device_type(self) -> int:
        """The number of its device's type."""
        return int(self._backend.device_type)

    @property
    def native_handle(self) -> int:
        """Its address, for other libraries."""
        return self.cuda_stream

    def is_capturing(self) -> bool:
        """Whether what it is asked becomes part of a graph."""
        from flambeau.cuda.graphs import is_captured

        return is_captured(*self._at, self.cuda_stream)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the greatest priority."""
        return 0, -5

    def query(self) -> bool:
        """Whether all that it was asked is done."""
        return bool(_launch.stream_done(*self._at, self.cuda_stream, 0))

    def synchronize(self) -> None:
        """Wait until all that it was asked is done."""
        _launch.stream_done(*self._at, self.cuda_stream, 1)

    def record_event(self, event: Event | None = None) -> Event:
        """An event that stands for what the stream was asked so far."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let what the stream is asked from now on wait for an event; the host goes on."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let what the stream is asked from now on wait for what another one was asked so far."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        outer = runtime.set_current(self.device_index, self._backend.name)
        self._outer.append((outer, _launch.set_stream(*self._at, self.cuda_stream)))
        return self

    def __exit__(self, *error: object) -> None:
        index, address = self._outer.pop()
        _launch.set_stream(*self._at, address)
        runtime.set_current(index, self._backend.name)

    def __cuda_stream__(self) -> tuple[int, int]:
        """For libraries of NVIDIA's: the protocol's version, and the address."""
        return 0, self.cuda_stream

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self._at, self.cuda_stream) == \
            (other._at, other.cuda_stream)

    def __hash__(self) -> int:
        return hash((self._at, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<flambeau.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library made.

    Args:
        stream_ptr: Its address.
        device: Where it works.
    """

    def __init__(self, stream_ptr: int, device: Any = None, **options: Any) -> None:
        super().__init__(device, stream_ptr=stream_ptr, **options)


class Event(streams.Event):
    """A place in a stream, for other streams and the host to wait for.

    Args:
        enable_timing: Whether ``elapsed_time`` will be asked.
        blocking: Accepted for compatibility.
        interprocess: Not supported.
        external: Accepted for compatibility.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False,
                 interprocess: bool = False, external: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("Event(interprocess=True): events are not shared between "
                                      "processes here; synchronize, and send a message")
        self.enable_timing = enable_timing
        self._backend: Any = None
        self._stream: Stream | None = None
        self.cuda_event = 0

    @property
    def device(self) -> Any:
        """Where it was recorded; None before that."""
        return None if self._stream is None else self._stream.device

    @property
    def event_id(self) -> int:
        """Its address, for other libraries; 0 before it is recorded."""
        return self.cuda_event

    def _make(self, stream: Stream) -> None:
        self._backend, self._index = stream._backend, stream.device_index
        self.cuda_event = _launch.make_event(*stream._at, int(self.enable_timing))
        weakref.finalize(self, _launch.drop_event, *stream._at, self.cuda_event).atexit = False

    def record(self, stream: Stream | None = None) -> None:
        """Stand for what a stream, the current one when left out, was asked so far."""
        stream = stream or current_stream()
        if not self.cuda_event:
            self._make(stream)
        elif stream._backend is not self._backend or stream.device_index != self._index:
            raise RuntimeError(f"record(): this event belongs to device {self._index}, the stream "
                               f"to {stream.device}; make an event for each device")
        self._stream = stream
        _launch.record(*stream._at, self.cuda_event, stream.cuda_stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Let what a stream is asked from now on wait for this; not recorded, it has come."""
        stream = stream or current_stream()
        if self.cuda_event:
            _launch.wait(*stream._at, stream.cuda_stream, self.cuda_event)

    def query(self) -> bool:
        """Whether it has come; also where it was never recorded."""
        return not self.cuda_event or bool(
            _launch.event_done(self._backend.device_type, self._index, self.cuda_event, 0))

    def synchronize(self) -> None:
        """Wait until it has come."""
        if self.cuda_event:
            _launch.event_done(self._backend.device_type, self._index, self.cuda_event, 1)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to a later one.

        Raises:
            ValueError: one of them was not made with ``enable_timing=True``, or not recorded.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("elapsed_time(): both events must be created with argument "
                             "'enable_timing=True'")
        if not (self.cuda_event and end_event.cuda_event):
            raise ValueError("elapsed_time(): both events must be recorded before calculating "
                             "elapsed time")
        return float(_launch.elapsed(self._backend.device_type, self._index, self.cuda_event,
                                     end_event.cuda_event))

    def ipc_handle(self) -> Any:
        """Not supported: events are not shared between processes."""
        raise NotImplementedError("ipc_handle(): events are not shared between processes here")

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: Any) -> Event:
        """Not supported: events are not shared between processes."""
        raise NotImplementedError("from_ipc_handle(): events are not shared between processes "
                                  "here")

    def __repr__(self) -> str:
        state = f"cuda_event={self.cuda_event:#x}" if self.cuda_event else "uninitialized"
        return f"<flambeau.cuda.Event {state}>"


class StreamContext:
    """A stream as a context; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*error)


def stream(stream: Stream | None) -> StreamContext:
    """Let the body work on a stream, and make its device the current one.

    Args:
        stream: The stream; None changes nothing.
    """
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The stream that this thread works on, of the current device or another."""
    found, index = runtime.place(device)
    return ExternalStream(_launch.stream(found.device_type, index), _device(found, index))


def default_stream(device: Any = None) -> Stream:
    """The stream that threads work on until they choose another."""
    return ExternalStream(0, _device(*runtime.place(device)))


def set_stream(stream: Stream | None) -> None:
    """Let this thread work on a stream from here on; prefer ``with stream(...)``."""
    if stream is not None:
        runtime.set_current(stream.device_index, stream._backend.name)
        _launch.set_stream(*stream._at, stream.cuda_stream)


def get_stream_from_external(data_ptr: int, device: Any = None) -> ExternalStream:
    """A stream that another library made, by its address."""
    return ExternalStream(data_ptr, device)


def _device(found: Any, index: int) -> str:
    return f"{found.name}:{index}"
