"""Work that is kept once and done again: CUDA graphs."""
from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import flambeau.cuda._launch as _launch
import flambeau.cuda.runtime as runtime
from flambeau.core import _core
from flambeau.cuda.streams import Stream, current_stream

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing"]

_BEGIN, _END, _LAUNCH, _FREE = range(4)
_numbers = itertools.count(1)
_capturing: dict[tuple[int, int, int], CUDAGraph] = {}
#: How many graphs have memory of a pool, by device and pool.
_holders: Counter[tuple[int, int, int]] = Counter()


def is_current_stream_capturing() -> bool:
    """Whether what this thread's stream is asked becomes part of a graph."""
    from flambeau.cuda import is_initialized

    if runtime.device_type() == "cuda" and not is_initialized():
        return False
    return is_capturing(*current_stream()._at)


def is_capturing(device_type: int, index: int) -> bool:
    """The same for a device by its numbers."""
    return capturing_on(device_type, index) is not None


def capturing_on(device_type: int, index: int) -> CUDAGraph | None:
    """The graph that this thread's stream of a device is captured into, if it is."""
    if not _capturing:
        return None
    return _capturing.get((device_type, index, _launch.stream(device_type, index)))


def keep_numbers() -> Callable[[], None]:
    """What lets graphs that are captured draw again, from where they are now."""
    kept = [(graph, {key: numbers.count for key, numbers in graph._numbers.items()})
            for graph in _capturing.values()]

    def restore() -> None:
        for graph, counts in kept:
            for key, numbers in graph._numbers.items():
                numbers.count = counts.get(key, 0)

    return restore


def is_captured(device_type: int, index: int, stream: int) -> bool:
    """Whether a stream, by its address, is captured."""
    return (device_type, index, stream) in _capturing


class _Numbers:
    """Random numbers of a graph: each replay draws those that come next.

    Args:
        generator: of the calls; ``None`` for the device's own.
        own: gives that of the device, seeded as ``manual_seed`` said last.
        device: where the graph runs.
    """

    def __init__(self, generator: Any, own: Callable[[], Any], device: Any) -> None:
        self.generator, self.own, self.count = generator, own, 0
        # Kernels of the graph read the seed and the number of the first block here.
        self.place = _core.call("empty", [[2], _core._dtype_named("int64"), device])
        self.parts = [self.place.narrow(0, k, 1) for k in range(2)]

    def take(self, count: int) -> tuple[int, int]:
        """The blocks before those of a call, and the address of what goes before them all."""
        before, self.count = self.count, self.count + count
        return before, _core.address_of(self.place)

    def move(self) -> None:
        """Let what the current stream is asked next draw new numbers."""
        found = _core.take_blocks(self.generator, self.own(), self.count)
        if found is None:
            raise RuntimeError("CUDAGraph.replay(): the generator's numbers are not those of "
                               "Philox any more; capture the graph again")
        for part, number in zip(self.parts, found, strict=True):
            _core.call("fill", [part, number - (number >> 63 << 64)], [part])


def graph_pool_handle() -> tuple[int, int]:
    """A token for graphs that share memory, as they never run at the same time."""
    return 0, next(_numbers)


class CUDAGraph:
    """What a stream was asked between ``capture_begin`` and ``capture_end``, to be done again.

    ``replay`` does all of it with one call of the driver, on the memory that the capture saw: write
    new inputs into the tensors it read, and read results from those it wrote. Prefer ``graph``.

    Args:
        keep_graph: Accepted for compatibility.

    Example:
        >>> import flambeau.cuda
        >>> g = flambeau.cuda.CUDAGraph()               # doctest: +SKIP
        >>> with flambeau.cuda.graph(g):                # doctest: +SKIP
        ...     y = model(x)
        >>> x.copy_(batch); g.replay()                  # doctest: +SKIP
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._stream: Stream | None = None
        self._handle = self._pool = 0
        self._outer_pool = 0
        self._numbers: dict[int, _Numbers] = {}
        self._replayed_on: set[Stream] = set()

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Keep what the current stream is asked from here on; nothing is computed."""
        if self._handle:
            raise RuntimeError("capture_begin(): this graph is captured; call reset() first")
        self._stream = current_stream()
        if not self._stream.cuda_stream:
            raise RuntimeError("CUDA graphs must be captured on a non-default stream; write with "
                               "flambeau.cuda.graph(g), which makes one")
        _launch.graph(*self._stream._at, self._stream.cuda_stream, _BEGIN)
        self._pool = pool[1] if pool else next(_numbers)
        self._outer_pool = _launch.set_pool(self._pool)
        _holders[(*self._stream._at, self._pool)] += 1
        _capturing[(*self._stream._at, self._stream.cuda_stream)] = self

    def capture_end(self) -> None:
        """End what ``capture_begin`` began."""
        stream = self._expect("capture_end", self._stream)
        _capturing.pop((*stream._at, stream.cuda_stream), None)
        _launch.set_pool(self._outer_pool)
        type, index = stream._at
        self._handle = _launch.graph(type, index, stream.cuda_stream, _END)

    def replay(self) -> None:
        """Do all of it again, on the current stream."""
        self._expect("replay", self._handle)
        at = current_stream(self._expect("replay", self._stream).device)
        self._replayed_on.add(at)
        for numbers in self._numbers.values():
            numbers.move()
        _launch.graph(*at._at, at.cuda_stream, _LAUNCH, self._handle)

    def reset(self) -> None:
        """Forget what was captured, and give its memory back."""
        if self._handle and self._stream is not None:
            for stream in (self._stream, *self._replayed_on):   # they still use its memory
                stream.synchronize()
            _launch.graph(*self._stream._at, 0, _FREE, self._handle)
            self._numbers.clear()
            self._replayed_on.clear()
            shared = (*self._stream._at, self._pool)
            _holders[shared] -= 1
            if not _holders[shared]:        # other graphs' tensors may still come and go there
                del _holders[shared]
                _launch.drop_pool(*shared)
        self._handle, self._stream = 0, None

    def pool(self) -> tuple[int, int]:
        """The token of its memory, for graphs that share it."""
        return 0, self._pool

    def numbers_of(self, generator: Any, own: Callable[[], Any], device: Any) -> _Numbers:
        """The random numbers that the graph draws from a generator, or the device's ``own()``."""
        key = id(own() if generator is None else generator)
        if key not in self._numbers:
            self._numbers[key] = _Numbers(generator, own, device)
        return self._numbers[key]

    def instantiate(self) -> None:
        """Do nothing: ``capture_end`` has."""

    def debug_dump(self, debug_path: str) -> None:
        """Not supported: the driver's own tools show graphs."""
        raise NotImplementedError("debug_dump(): look at graphs with NVIDIA Nsight Systems")

    def _expect(self, what: str, value: Any) -> Any:
        if not value:
            raise RuntimeError(f"{what}(): nothing was captured; write with "
                               "flambeau.cuda.graph(g): first")
        return value

    def __del__(self) -> None:
        try:
            self.reset()
        except Exception:       # at the interpreter's end the driver may be gone
            return


class graph:
    """Capture the body into a graph, on a stream of its own.

    Args:
        cuda_graph: The graph.
        pool: The token of memory that it shares with others.
        stream: Where to capture; a new stream when left out.
        capture_error_mode: Accepted for compatibility.
    """

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None,
                 capture_error_mode: str = "global", **options: Any) -> None:
        self.cuda_graph, self.pool = cuda_graph, pool
        self.stream = stream or Stream()

    def __enter__(self) -> None:
        from flambeau.cuda import synchronize

        synchronize(self.stream.device)
        self.stream.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool)
        except BaseException:
            self.stream.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        self.cuda_graph.capture_end()
        self.stream.__exit__()


def __getattr__(name: str) -> Any:
    if name == "make_graphed_callables":
        from flambeau.cuda.graphed import make_graphed_callables

        return make_graphed_callables
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
