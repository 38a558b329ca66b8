"""Datasets: what a ``DataLoader`` draws samples from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import flambeau
from flambeau import Tensor

Sample = TypeVar("Sample", covariant=True)


def __getattr__(name: str) -> Any:
    """``random_split``, which programs import from here too."""
    if name == "random_split":
        from .split import random_split

        return random_split
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Dataset(Generic[Sample]):
    """Samples by index: subclasses define ``__getitem__`` and ``__len__``.

    Example:
        >>> from flambeau.utils.data import Dataset
        >>> class Squares(Dataset):
        ...     def __getitem__(self, index):
        ...         return index**2
        ...
        ...     def __len__(self):
        ...         return 4
        >>> Squares()[3]
        9
    """

    def __getitem__(self, index: Any) -> Sample:
        raise NotImplementedError(
            f"{type(self).__name__} has no __getitem__(self, index): define it to return a sample"
        )

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Sample]):
    """Samples in a row: subclasses define ``__iter__``.

    Example:
        >>> from flambeau.utils.data import DataLoader, IterableDataset
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(DataLoader(Count(), batch_size=2))
        [tensor([0, 1]), tensor([2])]
    """

    def __iter__(self) -> Iterator[Sample]:
        raise NotImplementedError(
            f"{type(self).__name__} has no __iter__(self): define it to yield samples"
        )

    def __add__(self, other: Any) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample ``i`` holds row ``i`` of every tensor.

    Args:
        tensors: At least one; all with the same number of rows.

    Raises:
        ValueError: There is no tensor, or the numbers of rows differ.

    Example:
        >>> import flambeau
        >>> from flambeau.utils.data import TensorDataset
        >>> data = TensorDataset(flambeau.zeros(5, 2), flambeau.arange(5))
        >>> data[3]
        (tensor([0., 0.]), tensor(3))
        >>> len(data)
        5
    """

    def __init__(self, *tensors: Tensor) -> None:
        if not tensors:
            raise ValueError("TensorDataset() needs at least one tensor")
        sizes = [tensor.shape[0] if tensor.ndim else None for tensor in tensors]
        if None in sizes or len(set(sizes)) > 1:
            shapes = ", ".join(str(tuple(tensor.shape)) for tensor in tensors)
            raise ValueError(f"all tensors need the same first dimension; the shapes are {shapes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Tensor, ...]]:
        if type(self).__getitem__ is not TensorDataset.__getitem__:
            return [self[index] for index in indices]
        size = len(self)
        positions = [check_index(index, size) for index in indices]
        columns = self.gather(flambeau.tensor(positions, dtype=flambeau.int64))
        return list(zip(*[column.unbind(0) for column in columns], strict=True))

    def gather(self, index: Tensor) -> list[Tensor]:
        """The rows that ``index`` names, of every tensor: a whole batch at once."""
        return [rows_of(tensor, index) for tensor in self.tensors]


class StackDataset(Dataset[Any]):
    """Sample ``i`` holds sample ``i`` of every dataset, as a tuple or as a dict.

    Args:
        args: Datasets of the same length; samples are tuples.
        kwargs: The same by name; samples are dicts.

    Raises:
        ValueError: There is no dataset, both kinds are given, or the lengths differ.

    Example:
        >>> from flambeau.utils.data import StackDataset
        >>> StackDataset(text=["a", "b"], label=[0, 1])[1]
        {'text': 'b', 'label': 1}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError(
                "StackDataset() takes datasets by position (samples are tuples) or by name "
                f"(samples are dicts), not {'both' if args else 'none'}"
            )
        self.datasets = args or kwargs
        sizes = [len(dataset) for dataset in self._parts()]
        if len(set(sizes)) > 1:
            raise ValueError(f"all datasets need the same length; the lengths are {sizes}")
        self._length = sizes[0]

    def _parts(self) -> list[Any]:
        parts = self.datasets
        return list(parts.values() if isinstance(parts, dict) else parts)

    def _join(self, values: Iterable[Any]) -> Any:
        parts = self.datasets
        return dict(zip(parts, values, strict=True)) if isinstance(parts, dict) else tuple(values)

    def __getitem__(self, index: Any) -> Any:
        return self._join(dataset[index] for dataset in self._parts())

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        columns = [load_items(dataset, indices) for dataset in self._parts()]
        return [self._join(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class Subset(Dataset[Sample]):
    """The samples of a dataset that a list of indices names.

    Args:
        dataset: Where the samples come from.
        indices: Which, in this order.

    Example:
        >>> from flambeau.utils.data import Subset
        >>> Subset(["a", "b", "c"], [2, 0])[0]
        'c'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Sample:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        return load_items(self.dataset, [self.indices[index] for index in indices])

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[Any]):
    """Several datasets one after another.

    Args:
        datasets: At least one, none of them an ``IterableDataset``.

    Raises:
        ValueError: There is none, or a negative index lies before the first sample.
        AssertionError: One is an ``IterableDataset``.

    Example:
        >>> from flambeau.utils.data import ConcatDataset
        >>> ConcatDataset([["a", "b"], ["c"]])[2]
        'c'
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset() needs at least one dataset")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError(
                "ConcatDataset() takes datasets with indices, not an IterableDataset; for those "
                "use ChainDataset()"
            )
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where every dataset ends."""
        return list(accumulate(map(len, sequence)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < -len(self):
            raise ValueError(f"index {index} lies before the first of {len(self)} samples")
        index = check_index(index, len(self))
        which = bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]


class ChainDataset(IterableDataset[Any]):
    """Several iterable datasets one after another; made by ``first + second``.

    Args:
        datasets: Any number of ``IterableDataset``.

    Raises:
        AssertionError: One that is reached is another kind of dataset.

    Example:
        >>> from flambeau.utils.data import ChainDataset, IterableDataset
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(2))
        >>> list(ChainDataset([Count(), Count()]))
        [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    f"ChainDataset() takes IterableDataset, not {type(dataset).__name__}; for "
                    "datasets with indices use ConcatDataset()"
                )
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


def rows_of(tensor: Tensor, index: Tensor) -> Tensor:
    """The rows that ``index``, which lies on the CPU, names."""
    return tensor.index_select(0, index if tensor.is_cpu else index.to(tensor.device))


def check_index(index: int, size: int) -> int:
    """The index counted from the start.

    Raises:
        IndexError: It names no sample.
    """
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range for {size} samples")
    return index % size


def load_items(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """Samples of any dataset: at once if it can, else one by one."""
    if callable(getattr(dataset, "__getitems__", None)):
        return list(dataset.__getitems__(indices))
    return [dataset[index] for index in indices]
