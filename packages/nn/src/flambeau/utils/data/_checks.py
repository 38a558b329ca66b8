"""Whether the arguments of a ``DataLoader`` make sense."""

from __future__ import annotations

import os
import warnings
from typing import Any


def check_dataset(dataset: Any) -> None:
    """Raise ``TypeError`` for what has no samples."""
    if not hasattr(dataset, "__getitem__") and not hasattr(dataset, "__getitems__"):
        raise TypeError(
            f"DataLoader(): argument 'dataset' must have __getitem__ and __len__, or be an "
            f"IterableDataset; {type(dataset).__name__} is neither"
        )


def check_workers(
    count: int, timeout: float, prefetch: int | None, persistent: bool, kind: str | None
) -> None:
    """Raise ``ValueError`` for numbers out of range and for options that need workers."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ValueError(f"num_workers is an integer of at least 0, not {count!r}")
    if timeout < 0:
        raise ValueError(f"timeout is at least 0, not {timeout}")
    if prefetch is not None and (count == 0 or prefetch < 1):
        raise ValueError(
            f"prefetch_factor={prefetch} needs num_workers of at least 1 and is itself at least 1"
        )
    if persistent and count == 0:
        raise ValueError("persistent_workers=True needs num_workers of at least 1")
    if kind not in (None, "thread", "process"):
        raise ValueError(f"workers is 'thread', 'process' or None, not {kind!r}")
    if kind != "thread" and count > _cpus():
        warnings.warn(
            f"num_workers={count} is more than the {_cpus()} CPUs that this process may use: "
            "excessive workers slow loading down and take memory; write num_workers="
            f"{_cpus()} or less",
            stacklevel=3,
        )


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class StartContext:
    """The attribute ``multiprocessing_context``: set to a start method's name, a context."""

    def __get__(self, loader: Any, kind: type) -> Any:
        return self if loader is None else loader.__dict__["_start_context"]

    def __set__(self, loader: Any, context: Any) -> None:
        if context is not None:
            context = _start_context(loader.num_workers, context, loader.workers)
        loader.__dict__["_start_context"] = context


def _start_context(count: int, context: Any, kind: str | None) -> Any:
    if count == 0:
        raise ValueError("multiprocessing_context needs num_workers of at least 1")
    if kind == "thread":
        raise ValueError("multiprocessing_context is for processes, but workers='thread'")
    from ._processes import find_context

    return find_context(context)


def check_order(iterable: bool, shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    """Raise ``ValueError`` where several arguments say what the order is."""
    if shuffle not in (None, True, False):
        raise ValueError(f"shuffle is True, False or None, not {shuffle!r}")
    if iterable and (shuffle or sampler is not None or batch_sampler is not None):
        raise ValueError(
            "an IterableDataset has its own order: leave out shuffle, sampler and batch_sampler"
        )
    if shuffle and sampler is not None:
        raise ValueError("shuffle=True and sampler exclude each other: the sampler is the order")


def check_batches(
    batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """Raise ``ValueError`` where several arguments say what the batches are."""
    if batch_sampler is None:
        if batch_size is None and drop_last:
            raise ValueError("drop_last=True needs batches, but batch_size is None")
    elif batch_size != 1 or shuffle or sampler is not None or drop_last:
        raise ValueError(
            "batch_sampler decides batch_size, shuffle, sampler and drop_last: leave these four out"
        )


def check_count(name: str, value: Any) -> None:
    """Raise ``ValueError`` for what is no integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(f"{name} is an integer of at least 1, not {value!r}")


def check_switch(name: str, value: Any) -> None:
    """Raise ``TypeError`` for what is neither ``True`` nor ``False``."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} is True or False, not {value!r}")
