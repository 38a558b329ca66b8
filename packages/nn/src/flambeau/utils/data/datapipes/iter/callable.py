"""Stages that call a function with each sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, Sample
from ..lengths import length_of
from ..utils.common import check_function, pick, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Sample]):
    """Calls a function with each sample (functional name: ``map``).

    Args:
        datapipe: The stage before.
        fn: The function.
        input_col: The index or key of what it is called with, or several of them.
        output_col: Where its result is put; -1: behind the others. The first of ``input_col``
            when left out, whose others are removed then.

    Raises:
        ValueError: There is an ``output_col`` without ``input_col``, or the function takes
            another number of arguments.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([("a", 1), ("b", 2)]).map(str, input_col=1, output_col=-1))
        [('a', 1, '1'), ('b', 2, '2')]
    """

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None,
                 output_col: Any = None) -> None:
        check_function(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, list | tuple):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        validate_input_col(fn, input_col)
        self.datapipe, self.fn = datapipe, fn
        self.input_col, self.output_col = input_col, output_col

    def _apply(self, data: Any) -> Any:
        found = pick(data, self.input_col, self.fn)
        if self.input_col is None:
            return found
        made = list(data) if isinstance(data, tuple) else data
        self._put(made, found)
        return tuple(made) if isinstance(data, tuple) else made

    def _put(self, made: Any, found: Any) -> None:
        if self.output_col == -1:
            made.append(found)
        elif self.output_col is not None:
            made[self.output_col] = found
        elif isinstance(self.input_col, list | tuple):
            made[self.input_col[0]] = found
            for column in sorted(self.input_col[1:], reverse=True):
                del made[column]
        else:
            made[self.input_col] = found

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply(data)

    def __len__(self) -> int:
        return length_of(self.datapipe, self)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe[Any]):
    """Makes tensors of each list of samples (functional name: ``collate``).

    Args:
        datapipe: The stage before.
        conversion: The function that does it.
        collate_fn: The same, under its newer name.

    Example:
        >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(3)).batch(2).collate())
        [tensor([0, 1]), tensor([2])]
    """

    def __init__(self, datapipe: Any, conversion: Any = default_collate,
                 collate_fn: Callable[..., Any] | None = None) -> None:
        if collate_fn is None and not callable(conversion):
            raise TypeError("collate(): conversions of the columns of data frames are not made; "
                            "pass a function of a list of samples")
        super().__init__(datapipe, conversion if collate_fn is None else collate_fn)
