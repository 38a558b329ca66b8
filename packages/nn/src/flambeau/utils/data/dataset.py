"""Datasets: what a ``DataLoader`` draws samples from."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import flambeau
from flambeau import Tensor

Sample = TypeVar("Sample", covariant=True)


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

    def gather(self, index: Tensor) -> list[Tensor]:
        """The rows that ``index`` names, of every tensor: a whole batch at once."""
        return [tensor.index_select(0, index) for tensor in self.tensors]


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

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[Any]):
    """Several datasets one after another.

    Args:
        datasets: At least one, none of them an ``IterableDataset``.

    Raises:
        ValueError: There is none.
        TypeError: One is an ``IterableDataset``.

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
            raise TypeError("ConcatDataset() takes datasets with indices, not an IterableDataset")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range for {size} samples")
        index %= size
        which = bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Any = None
) -> list[Subset[Any]]:
    """Divide a dataset at random into parts without overlap.

    Args:
        dataset: What to divide.
        lengths: The size of every part, or fractions that sum to one.
        generator: Where the random numbers come from.

    Raises:
        ValueError: The sizes do not sum to the size of the dataset.

    Example:
        >>> from flambeau.utils.data import random_split
        >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
        [8, 2]
    """
    total = len(dataset)
    sizes = _sizes(lengths, total)
    if sum(sizes) != total:
        raise ValueError(
            f"the lengths {list(lengths)} sum to {sum(sizes)}, but the dataset has {total} samples"
        )
    order = flambeau.randperm(total, generator=generator).tolist()
    ends = list(accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def _sizes(lengths: Sequence[int | float], total: int) -> list[int]:
    """Sizes from fractions that sum to one; what rounding leaves goes to the first parts."""
    if not math.isclose(sum(lengths), 1) or sum(lengths) > 1 + 1e-9:
        return [int(length) for length in lengths]
    if any(not 0 <= length <= 1 for length in lengths):
        raise ValueError(f"fractions lie between 0 and 1, not {list(lengths)}")
    sizes = [math.floor(total * length) for length in lengths]
    for i in range(total - sum(sizes)):
        sizes[i % len(sizes)] += 1
    return sizes
