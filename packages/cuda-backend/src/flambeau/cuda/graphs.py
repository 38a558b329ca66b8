"""Work that is kept once and done again: CUDA graphs."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import flambeau.cuda._launch as _launch
import flambeau.cuda.runtime as runtime
from flambeau.cuda.streams import Stream, current_stream

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing",
           "make_graphed_callables"]

_BEGIN, _END, _LAUNCH, _FREE = range(4)
_numbers = itertools.count(1)
_capturing: set[tuple[int, int, int]] = set()


def is_current_stream_capturing() -> bool:
    """Whether what this thread's stream is asked becomes part of a graph."""
    from flambeau.cuda import is_initialized

    if runtime.device_type() == "cuda" and not is_initialized():
        return False
    return is_capturing(*current_stream()._at)


def is_capturing(device_type: int, index: int) -> bool:
    """The same for a device by its numbers."""
    return (device_type, index, _launch.stream(device_type, index)) in _capturing


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
        _capturing.add((*self._stream._at, self._stream.cuda_stream))

    def capture_end(self) -> None:
        """End what ``capture_begin`` began."""
        stream = self._expect("capture_end", self._stream)
        _capturing.discard((*stream._at, stream.cuda_stream))
        _launch.set_pool(self._outer_pool)
        type, index = stream._at
        self._handle = _launch.graph(type, index, stream.cuda_stream, _END)

    def replay(self) -> None:
        """Do all of it again, on the current stream."""
        self._expect("replay", self._handle)
        at = current_stream(self._expect("replay", self._stream).device)
        _launch.graph(*at._at, at.cuda_stream, _LAUNCH, self._handle)

    def reset(self) -> None:
        """Forget what was captured, and give its memory back."""
        if self._handle and self._stream is not None:
            self._stream.synchronize()
            _launch.graph(*self._stream._at, 0, _FREE, self._handle)
            _launch.drop_pool(*self._stream._at, self._pool)
        self._handle, self._stream = 0, None

    def pool(self) -> tuple[int, int]:
        """The token of its memory, for graphs that share it."""
        return 0, self._pool

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


def make_graphed_callables(callables: Any, sample_args: Any, num_warmup_iters: int = 3,
                           allow_unused_input: bool = False, pool: Any = None) -> Any:
    """Functions that replay a graph of their forward pass.

    Gradients are not part of it: where an input or a parameter requires grad, the function runs as
    it is.

    Args:
        callables: A function or module, or a tuple of them.
        sample_args: Tensors such as it will be called with; a tuple of such tuples for a tuple.
        num_warmup_iters: How often to call before the capture.
        allow_unused_input: Accepted for compatibility.
        pool: The token of memory that graphs share.

    Returns:
        A function, or a tuple of them, as ``callables`` is one.
    """
    if isinstance(callables, tuple):
        return tuple(_graphed(f, args, num_warmup_iters, pool)
                     for f, args in zip(callables, sample_args, strict=True))
    return _graphed(callables, sample_args, num_warmup_iters, pool)


def _graphed(function: Any, samples: tuple[Any, ...], warmup: int, pool: Any) -> Any:
    import flambeau

    inputs = [x.detach().clone() for x in samples]
    with flambeau.no_grad():
        for _ in range(max(warmup, 1)):
            function(*inputs)
        captured = CUDAGraph()
        with graph(captured, pool):
            kept = function(*inputs)

    def replayed(*args: Any) -> Any:
        """The function, from its graph where nothing requires grad."""
        if _needs_grad(function, args) or \
                [tuple(a.shape) for a in args] != [tuple(x.shape) for x in inputs]:
            return function(*args)
        for x, given in zip(inputs, args, strict=True):
            x.copy_(given)
        captured.replay()
        return _each(kept, lambda t: t.clone())

    return replayed


def _needs_grad(function: Any, args: tuple[Any, ...]) -> bool:
    import flambeau

    parameters = function.parameters() if hasattr(function, "parameters") else ()
    return flambeau.is_grad_enabled() and any(x.requires_grad for x in (*args, *parameters))


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_each(v, change) for v in value)
    return change(value) if hasattr(value, "data_ptr") else value
