"""Stages that make lists of samples, and take them apart."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..batches import Batches
from ..datapipe import DataChunk, IterDataPipe
from ..utils.common import check_function
from .sharding import SHARDING_PRIORITIES as _PRIORITIES

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


def __getattr__(name: str) -> Any:
    """``SHARDING_PRIORITIES``, which was here once."""
    if name != "SHARDING_PRIORITIES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn("Please use `SHARDING_PRIORITIES` from the "
                  "`torch.utils.data.datapipes.iter.sharding`", FutureWarning, stacklevel=2)
    return _PRIORITIES


@functional_datapipe("batch")
class BatcherIterDataPipe(Batches, IterDataPipe[Any]):
    """Gives lists of so many samples (functional name: ``batch``).

    Args:
        datapipe: The stage before.
        batch_size: Samples in a list.
        drop_last: Whether a last list that is shorter is left out.
        wrapper_class: What lists become.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(5)).batch(2))
        [[0, 1], [2, 3], [4]]
    """

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """Gives the samples of lists one by one (functional name: ``unbatch``).

    Args:
        datapipe: The stage before.
        unbatch_level: How many levels of lists are taken apart; -1: all.

    Raises:
        ValueError: The level is below -1.
        IndexError: There are fewer levels.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([[[0, 1], [2]], [[3]]]).unbatch())
        [[0, 1], [2], [3]]
    """

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for element in self.datapipe:
            yield from self._inside(element, self.unbatch_level)

    def _inside(self, element: Any, level: int) -> Iterator[Any]:
        is_list = isinstance(element, list | DataChunk)
        if level == 0 or (level == -1 and not is_list):
            yield element
        elif not is_list:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the "
                             "DataPipe")
        else:
            for item in element:
                yield from self._inside(item, level if level == -1 else level - 1)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Gives lists of samples that have one key (functional name: ``groupby``).

    A group is given when it is full; the largest one when the buffer is; the others at the end.

    Args:
        datapipe: The stage before.
        group_key_fn: Gives a sample's key.
        keep_key: Whether groups come with their key.
        buffer_size: Samples that are held.
        group_size: Samples of a full group.
        guaranteed_group_size: Samples that a group has that is given before it is full.
        drop_remaining: Whether smaller ones are left out then, instead of an error.

    Raises:
        ValueError: Sizes contradict each other.
        RuntimeError: The buffer is full of groups that are too small.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(["aa", "b", "cc"]).groupby(len))
        [['aa', 'cc'], ['b']]
    """

    def __init__(self, datapipe: Any, group_key_fn: Callable[[Any], Hashable], *,
                 keep_key: bool = False, buffer_size: int = 10000, group_size: int | None = None,
                 guaranteed_group_size: int | None = None, drop_remaining: bool = False) -> None:
        check_function(group_key_fn)
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise ValueError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and not (
                group_size is not None and 0 < guaranteed_group_size <= group_size):
            raise ValueError("guaranteed_group_size must be > 0 and <= group_size, which must be "
                             "set")
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.max_buffer_size, self.group_size = buffer_size, group_size
        self.guaranteed_group_size = (
            group_size if guaranteed_group_size is None else guaranteed_group_size)
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk
        self.reset()

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            group = self.buffer_elements[key]
            group.append(sample)
            self.curr_buffer_size += 1
            if len(group) == self.group_size:
                yield self._take(key)
            elif self.curr_buffer_size == self.max_buffer_size:
                yield from self._largest()
        for key in tuple(self.buffer_elements):
            yield self._take(key)

    def _take(self, key: Hashable) -> Any:
        group = self.wrapper_class(self.buffer_elements.pop(key))
        self.curr_buffer_size -= len(group)
        return (key, group) if self.keep_key else group

    def _largest(self) -> Iterator[Any]:
        """The largest group, or nothing where it is too small."""
        key = max(self.buffer_elements, key=lambda each: len(self.buffer_elements[each]))
        is_small = len(self.buffer_elements[key]) < (self.guaranteed_group_size or 0)
        if is_small and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(self.buffer_elements[key]))
        group = self._take(key)
        if not is_small:
            yield group

    def reset(self) -> None:
        """Empty the buffer."""
        self.buffer_elements: defaultdict[Hashable, list[Any]] = defaultdict(list)
        self.curr_buffer_size = 0
