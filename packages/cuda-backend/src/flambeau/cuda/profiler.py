"""When NVIDIA's profilers look: ``start`` and ``stop``, through CuPy where there is a GPU."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["profile", "start", "stop"]


def _tell(name: str) -> None:
    from flambeau.cuda import is_initialized, runtime
    from flambeau.cuda.cupy_module import cupy

    if runtime.device_type() == "cuda" and is_initialized():
        getattr(cupy().cuda.runtime, name)()


def start() -> None:
    """Let a profiler that waits for it begin. Does nothing where no GPU is used."""
    _tell("profilerStart")


def stop() -> None:
    """Let a profiler stop. Does nothing where no GPU is used."""
    _tell("profilerStop")


@contextmanager
def profile() -> Iterator[None]:
    """Let a profiler look at the body."""
    start()
    try:
        yield
    finally:
        stop()
