"""Stages that make several of one: each sample for all of them, or for one of them."""

from __future__ import annotations

import copy
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..lengths import length_of
from ..utils.common import StreamWrapper, check_function

__all__ = ["DemultiplexerIterDataPipe", "ForkerIterDataPipe"]
_COPIES: dict[Any, Callable[[Any], Any]] = {
    None: lambda sample: sample, "shallow": copy.copy, "deep": copy.deepcopy}


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """Makes several stages that all give the samples of one (functional name: ``fork``).

    Args:
        datapipe: The stage before.
        num_instances: How many are made.
        buffer_size: By how many samples the fastest may be ahead of the slowest; -1: any number.
        copy: ``"shallow"`` or ``"deep"``: each stage gets copies of its own.

    Raises:
        ValueError: No stage is to be made, the buffer holds nothing, or the kind of copy is none.
        BufferError: While iterating: one is ahead too far.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> one, two = IterableWrapper(range(3)).fork(2)
        >>> list(one), list(two)
        ([0, 1, 2], [0, 1, 2])
    """

    def __new__(cls, datapipe: Any, num_instances: int, buffer_size: int = 1000,
                copy: str | None = None) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is "
                             "found")
        if num_instances == 1:
            return datapipe
        if copy not in _COPIES:
            raise ValueError(f"Unknown copy method `{copy}`, choose one of: None, shallow, deep")
        shared = _Fork(datapipe, num_instances, buffer_size)
        shared.copy = copy
        return [_Child(shared, number) for number in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """Makes several stages, one of which gets each sample (functional name: ``demux``).

    Args:
        datapipe: The stage before.
        num_instances: How many are made.
        classifier_fn: Says which one a sample goes to.
        drop_none: Whether a sample that it gives None for goes to nobody.
        buffer_size: Samples that are held for others than who asks; -1: any number.

    Raises:
        ValueError: No stage is to be made, the buffer holds nothing, or a sample belongs to none.
        BufferError: While iterating: more would have to be held.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> even, odd = IterableWrapper(range(5)).demux(2, (1).__and__)
        >>> list(even), list(odd)
        ([0, 2, 4], [1, 3])
    """

    def __new__(cls, datapipe: Any, num_instances: int, classifier_fn: Callable[[Any], int | None],
                drop_none: bool = False, buffer_size: int = 1000) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is "
                             "found")
        check_function(classifier_fn)
        shared = _Demux(datapipe, num_instances, buffer_size)
        shared.classifier_fn, shared.drop_none = classifier_fn, drop_none
        return [_Child(shared, number) for number in range(num_instances)]


class _Shared(IterDataPipe[Any]):
    """What the stages that were made of one have in common: its iterator, and a buffer."""

    def __init__(self, datapipe: Any, num_instances: int, buffer_size: int) -> None:
        if buffer_size == 0:
            raise ValueError("`buffer_size` must be larger than 0, or -1 for any number of samples")
        if buffer_size < 0:
            name = type(self).__name__.strip("_").lower()
            warnings.warn(f"Unlimited buffer size is set for `{name}`, please be aware of "
                          "OutOfMemory risks", UserWarning, stacklevel=4)
        self.main_datapipe, self.num_instances = datapipe, num_instances
        self.buffer_size = buffer_size
        self._begin()

    def _begin(self) -> None:
        self._source: Iterator[Any] | None = None
        self._ended = False
        self._held: list[deque[Any]] = [deque() for _ in range(self.num_instances)]
        self._stopped = [True] * self.num_instances

    def __getstate__(self) -> Any:
        state = {name: value for name, value in vars(self).items()
                 if name not in ("_source", "_held")}
        return self._hooked(state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def is_every_instance_exhausted(self) -> bool:
        """Whether all stages have given all their samples."""
        return self._ended and all(self._stopped)

    def get_next_element_by_instance(self, number: int) -> Iterator[Any]:
        """The samples of one of the stages."""
        if self._source is None and not self._ended:
            self._source = iter(self.main_datapipe)
            self._stopped = [False] * self.num_instances
        try:
            while self._has_sample(number):
                yield self._held[number].popleft()
        finally:
            self._stopped[number] = True

    def _has_sample(self, number: int) -> bool:
        if not self._held[number]:
            try:
                self._read(number)
            except StopIteration:
                return False
        return True

    def _read(self, number: int) -> None:
        """Read until the stage has a sample."""
        raise NotImplementedError

    def _next(self) -> Any:
        if self._source is None:
            raise StopIteration
        try:
            return next(self._source)
        except StopIteration:
            self._source, self._ended = None, True
            raise

    def reset(self) -> None:
        """Begin with the first sample again."""
        self._begin()


class _Fork(_Shared):
    copy: str | None = None

    def _read(self, number: int) -> None:
        ahead = max(len(held) for held in self._held)
        if 0 <= self.buffer_size <= ahead:
            raise BufferError("ForkerIterDataPipe buffer overflow, buffer size "
                              f"{self.buffer_size} is insufficient: read the stages in turn, or "
                              "pass fork(buffer_size=)")
        sample = self._next()
        for held in self._held:
            held.append(_COPIES[self.copy](sample))

    def __len__(self) -> int:
        return length_of(self.main_datapipe, self)


class _Demux(_Shared):
    classifier_fn: Callable[[Any], int | None]
    drop_none: bool

    def _read(self, number: int) -> None:
        while True:
            sample = self._next()
            goes_to = self.classifier_fn(sample)
            if goes_to is None and self.drop_none:
                StreamWrapper.close_streams(sample)
                continue
            if goes_to is None or not 0 <= goes_to < self.num_instances:
                raise ValueError("Output of the classification fn should be between 0 and "
                                 f"{self.num_instances - 1}. {goes_to} is returned.")
            self._held[goes_to].append(sample)
            if goes_to == number:
                return
            if 0 <= self.buffer_size < sum(map(len, self._held)):
                raise BufferError("DemultiplexerIterDataPipe buffer overflow, buffer size "
                                  f"{self.buffer_size} is insufficient: read the stages in turn, "
                                  "or pass demux(buffer_size=)")


class _Child(IterDataPipe[Any]):
    """One of several stages; a new iterator of any of them resets all."""

    def __init__(self, main_datapipe: _Shared, instance_id: int) -> None:
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.get_next_element_by_instance(self.instance_id)

    def __len__(self) -> int:
        return length_of(self.main_datapipe, self)

    def _begin_again(self) -> int:
        shared = self.main_datapipe
        if shared._valid_iterator_id is None:
            shared._valid_iterator_id = 0
        elif shared._valid_iterator_id == self._valid_iterator_id:
            shared._valid_iterator_id += 1
            if not shared.is_every_instance_exhausted():
                warnings.warn("Some child DataPipes are not exhausted when __iter__ is called. We "
                              "are resetting the buffer and each child DataPipe will read from "
                              "the start again.", UserWarning, stacklevel=2)
            shared.reset()
        self._valid_iterator_id = shared._valid_iterator_id
        return self._valid_iterator_id

    def _check_valid_iterator_id(self, number: int) -> bool:
        return number == self._valid_iterator_id == self.main_datapipe._valid_iterator_id
