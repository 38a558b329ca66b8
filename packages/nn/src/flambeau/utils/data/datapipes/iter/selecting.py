"""The stage that leaves samples out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, Sample
from ..utils.common import StreamWrapper, check_function, pick, validate_input_col

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Sample]):
    """Keeps the samples that a function says True for (functional name: ``filter``).

    Args:
        datapipe: The stage before.
        filter_fn: The function.
        input_col: The index or key of what it is called with, or several of them.

    Raises:
        ValueError: It gives something else than True or False.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([1, 0, 2]).filter(bool))
        [1, 2]
    """

    def __init__(self, datapipe: Any, filter_fn: Callable[..., bool],
                 input_col: Any = None) -> None:
        check_function(filter_fn)
        validate_input_col(filter_fn, input_col)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            answer = pick(data, self.input_col, self.filter_fn)
            if not isinstance(answer, bool):
                raise ValueError("Boolean output is required for `filter_fn` of "
                                 f"FilterIterDataPipe, got {type(answer)}")
            if answer:
                yield data
            else:
                StreamWrapper.close_streams(data)
