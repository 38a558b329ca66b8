"""The profiler under PyTorch's newer name: ``profile``, ``schedule``, ``record_function``."""
from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path

from flambeau.autograd._schedule import ProfilerAction, schedule
from flambeau.autograd.profiler import (
    EventList,
    FunctionEvent,
    KernelSum,
    kineto_available,
    profile,
    record_function,
)

__all__ = ["EventList", "FunctionEvent", "KernelSum", "ProfilerAction", "ProfilerActivity",
           "kineto_available", "profile", "record_function", "schedule", "supported_activities",
           "tensorboard_trace_handler"]


class ProfilerActivity(Enum):
    """What a profiler may watch; operators are recorded where they are called, on the CPU."""

    CPU = "cpu"
    CUDA = "cuda"


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded here.

    Example:
        >>> from flambeau.profiler import ProfilerActivity, supported_activities
        >>> ProfilerActivity.CPU in supported_activities()
        True
    """
    return {ProfilerActivity.CPU}


def tensorboard_trace_handler(dir_name: str | Path, worker_name: str | None = None,
                              use_gzip: bool = False) -> Callable[[profile], None]:
    """A function for ``on_trace_ready`` that writes Chrome traces into a folder.

    Args:
        dir_name: the folder; made if absent.
        worker_name: how the files' names begin; ``"flambeau"`` when left out.
        use_gzip: whether they are compressed.

    Returns:
        The function.

    Example:
        >>> import flambeau, os, tempfile
        >>> from flambeau.profiler import profile, tensorboard_trace_handler
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with profile(on_trace_ready=tensorboard_trace_handler(folder)):
        ...         y = flambeau.ones(2) + 1
        ...     os.listdir(folder)
        ['flambeau.1.pt.trace.json']
    """
    folder = Path(dir_name)
    count = 0

    def write(prof: profile) -> None:
        nonlocal count
        count += 1
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{worker_name or 'flambeau'}.{count}.pt.trace.json"
        prof.export_chrome_trace(folder / (f"{name}.gz" if use_gzip else name))

    return write
