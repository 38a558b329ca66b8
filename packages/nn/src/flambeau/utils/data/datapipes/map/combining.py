"""Stages that make one of several."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe
from ..lengths import check_stages, lengths_of

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]


class _Combined(MapDataPipe[Any]):
    def __init__(self, *datapipes: Any) -> None:
        check_stages(datapipes, MapDataPipe)
        if not all(isinstance(stage, Sized) for stage in datapipes):
            raise TypeError("Expected all inputs to be `Sized`")
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(_Combined):
    """Gives the samples of one stage behind those of another (functional name: ``concat``).

    Args:
        datapipes: The stages.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper("ab").concat(SequenceWrapper("c"))[2]
        'c'
    """

    def __getitem__(self, index: Any) -> Any:
        below = index
        for stage, length in zip(self.datapipes, lengths_of(self.datapipes, self), strict=True):
            if below < length:
                return stage[below]
            below -= length
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(lengths_of(self.datapipes, self))


@functional_datapipe("zip")
class ZipperMapDataPipe(_Combined):
    """Gives tuples of a sample of each stage (functional name: ``zip``).

    Args:
        datapipes: The stages.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper("ab").zip(SequenceWrapper("xy"))[1]
        ('b', 'y')
    """

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        try:
            return tuple(stage[index] for stage in self.datapipes)
        except IndexError as error:
            raise IndexError(f"Index {index} is out of range for one of the input "
                             "MapDataPipes.") from error

    def __len__(self) -> int:
        return min(lengths_of(self.datapipes, self))
