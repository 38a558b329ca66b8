"""Stages that make one of several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..lengths import check_stages, lengths_of
from .splitting import DemultiplexerIterDataPipe, ForkerIterDataPipe

__all__ = ["ConcaterIterDataPipe", "DemultiplexerIterDataPipe", "ForkerIterDataPipe",
           "MultiplexerIterDataPipe", "ZipperIterDataPipe"]


class _Combined(IterDataPipe[Any]):
    def __init__(self, *datapipes: Any) -> None:
        check_stages(datapipes, IterDataPipe)
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterIterDataPipe(_Combined):
    """Gives the samples of one stage after the other (functional name: ``concat``).

    Args:
        datapipes: The stages.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper("ab").concat(IterableWrapper("c")))
        ['a', 'b', 'c']
    """

    def __iter__(self) -> Iterator[Any]:
        for stage in self.datapipes:
            yield from stage

    def __len__(self) -> int:
        return sum(lengths_of(self.datapipes, self))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(_Combined):
    """Gives a sample of each stage in turn, until one ends (functional name: ``mux``).

    Args:
        datapipes: The stages.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper("abc").mux(IterableWrapper("xy")))
        ['a', 'x', 'b', 'y']
    """

    def __iter__(self) -> Iterator[Any]:
        for samples in zip(*self.datapipes, strict=False):
            yield from samples

    def __len__(self) -> int:
        return min(lengths_of(self.datapipes, self)) * len(self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(_Combined):
    """Gives tuples of a sample of each stage, until one ends (functional name: ``zip``).

    Args:
        datapipes: The stages.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper("abc").zip(IterableWrapper("xy")))
        [('a', 'x'), ('b', 'y')]
    """

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(lengths_of(self.datapipes, self))
