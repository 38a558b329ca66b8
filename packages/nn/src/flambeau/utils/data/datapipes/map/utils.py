"""The first stage: a list, or a dictionary."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ..datapipe import MapDataPipe, Sample

__all__ = ["SequenceWrapperMapDataPipe"]


class SequenceWrapperMapDataPipe(MapDataPipe[Sample]):
    """Gives the elements of a sequence or mapping.

    Args:
        sequence: That.
        deepcopy: Whether a copy of it is made now.

    Example:
        >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper({"a": 1})["a"]
        1
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn("The input sequence can not be deepcopied, please be aware of "
                              "in-place modification would affect source data", stacklevel=2)

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)
