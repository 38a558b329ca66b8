"""Iterators over stages: one at a time, which count the samples that they give."""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any


class _SnapshotState(enum.Enum):
    """Where a stage is: resetting it is left out just after it was put somewhere else."""

    NotStarted = 0
    Restored = 1
    Iterating = 2


def hook_reset(reset: Callable[..., None]) -> Callable[..., None]:
    """``reset`` that also begins the count again."""

    @functools.wraps(reset)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> None:
        if self._snapshot_state is not _SnapshotState.Restored:
            self._number_of_samples_yielded = 0
            self._fast_forward_iterator = None
            reset(self, *args, **kwargs)
        self._snapshot_state = _SnapshotState.Iterating

    return hooked


def hook_next(step: Callable[..., Any]) -> Callable[..., Any]:
    """``__next__`` that counts."""

    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        sample = step(self, *args, **kwargs)
        self._number_of_samples_yielded += 1
        return sample

    return hooked


def hook_iter(begin: Callable[..., Iterator[Any]], counts: bool) -> Callable[..., Iterator[Any]]:
    """``__iter__`` whose iterators make older ones invalid.

    Args:
        begin: The method, which may be a generator.
        counts: Whether the class has a ``__next__``, which counts.
    """
    if inspect.isgeneratorfunction(begin):
        @functools.wraps(begin)
        def generate(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
            ahead = self._fast_forward_iterator
            if ahead is not None:
                self._fast_forward_iterator = None
                self._snapshot_state = _SnapshotState.Iterating
                yield from ahead
                return
            yield from _Valid(begin(self, *args, **kwargs), self, begin_again(self), False)

        return generate

    @functools.wraps(begin)
    def make(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        found = begin(self, *args, **kwargs)
        ahead = self._fast_forward_iterator
        if ahead is not None:
            self._snapshot_state = _SnapshotState.Iterating
            self._fast_forward_iterator = None
            return ahead
        return _Valid(found, self, begin_again(self), counts and found is self)

    return make


def begin_again(stage: Any) -> int:
    """Reset a stage for a new iterator, whose number this is."""
    of_group = getattr(type(stage), "_begin_again", None)
    if of_group is not None:
        number: int = of_group(stage)
        return number
    number = 0 if stage._valid_iterator_id is None else stage._valid_iterator_id + 1
    stage._valid_iterator_id = number
    stage.reset()
    return number


def _is_valid(stage: Any, number: int) -> bool:
    of_group = getattr(type(stage), "_check_valid_iterator_id", None)
    if of_group is not None:
        return bool(of_group(stage, number))
    return bool(stage._valid_iterator_id == number)


class _Valid:
    """An iterator that raises after another one has begun."""

    def __init__(self, inside: Iterator[Any], stage: Any, number: int, counted: bool) -> None:
        self._inside, self._stage = inside, stage
        self._number, self._counted = number, counted

    def __iter__(self) -> _Valid:
        return self

    def __next__(self) -> Any:
        stage = self._stage
        if not _is_valid(stage, self._number):
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created from "
                f"the same IterDataPipe: {type(stage).__name__}. A stage has one iterator at a "
                "time; use fork() for several readers")
        sample = next(self._inside)
        if not self._counted:
            stage._number_of_samples_yielded += 1
        return sample

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inside, name)
