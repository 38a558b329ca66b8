"""What stages that make batches have in common, those of iterators and those of indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .datapipe import DataChunk
from .lengths import length_of


class Batches:
    """Lists of so many samples of the stage before; a mixin."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False,
                 wrapper_class: Callable[[list[Any]], Any] = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __len__(self) -> int:
        count = length_of(self.datapipe, self)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
