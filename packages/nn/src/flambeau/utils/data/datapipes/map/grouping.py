"""The stage that makes lists of samples."""

from __future__ import annotations

from typing import Any

from .._decorator import functional_datapipe
from ..batches import Batches
from ..datapipe import MapDataPipe

__all__ = ["BatcherMapDataPipe"]


@functional_datapipe("batch")
class BatcherMapDataPipe(Batches, MapDataPipe[Any]):
    """Gives lists of so many samples (functional name: ``batch``).

    Args:
        datapipe: The stage before, with indices from 0 on.
        batch_size: Samples in a list.
        drop_last: Whether a last list that is shorter is left out.
        wrapper_class: What lists become.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> list(SequenceWrapper(range(5)).batch(2))
        [[0, 1], [2, 3], [4]]
    """

    def __getitem__(self, index: Any) -> Any:
        batch: list[Any] = []
        try:
            for number in range(index * self.batch_size, (index + 1) * self.batch_size):
                batch.append(self.datapipe[number])  # kept where it ends
        except IndexError:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from None
        return self.wrapper_class(batch)
