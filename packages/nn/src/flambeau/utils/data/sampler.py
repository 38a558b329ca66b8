"""Samplers: in which order samples are drawn, and how they are grouped into batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import accumulate, islice
from math import inf
from typing import Any, Generic, TypeVar

import flambeau
from flambeau import Tensor
from flambeau.core import draws_like_pytorch

from ._checks import check_count, check_switch

Index = TypeVar("Index", covariant=True)

_LONG = 1 << 22  # more indices than this, and than there are samples, are drawn in pieces
_PIECE = 1 << 16


class Sampler(Generic[Index]):
    """An order of indices: subclasses define ``__iter__`` and, if they can, ``__len__``.

    Example:
        >>> from flambeau.utils.data import Sampler
        >>> class Backwards(Sampler):
        ...     def __iter__(self):
        ...         return iter([2, 1, 0])
        >>> list(Backwards())
        [2, 1, 0]
    """

    def __iter__(self) -> Iterator[Index]:
        raise NotImplementedError(
            f"{type(self).__name__} has no __iter__(self): define it to yield indices"
        )


class _Ordered(Sampler[int]):
    """A sampler that knows its whole order as a tensor."""

    @property
    def is_long(self) -> bool:
        """Whether the order is too long to be drawn at once."""
        return False

    def order(self) -> Tensor:
        """The indices of one epoch; a random order is drawn anew by every call."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[int]:
        yield from self.order().tolist()  # drawn when the first is asked for


class SequentialSampler(_Ordered):
    """The samples in their own order.

    Args:
        data_source: Anything with a length.

    Example:
        >>> from flambeau.utils.data import SequentialSampler
        >>> list(SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def order(self) -> Tensor:
        """0, 1, 2, …"""
        return flambeau.arange(len(self.data_source))

    def __len__(self) -> int:
        return len(self.data_source)


def _seeded_from(generator: Any) -> Any:
    """A new generator, seeded by a number of another one."""
    seed = flambeau.empty((), dtype=flambeau.int64).random_(generator=generator)
    return flambeau.Generator().manual_seed(int(seed))


class RandomSampler(_Ordered):
    """The samples in a random order.

    Args:
        data_source: Anything with a length.
        replacement: Draw each sample independently of the others.
        num_samples: How many to draw; as many as there are when left out.
        generator: Where the random numbers come from.

    Raises:
        ValueError: ``num_samples`` is not positive, or there are no samples.
        TypeError: ``replacement`` is neither ``True`` nor ``False``.

    Example:
        >>> import flambeau
        >>> from flambeau.utils.data import RandomSampler
        >>> sorted(RandomSampler("abc"))
        [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        check_switch("replacement", replacement)
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        check_count("num_samples", self.num_samples)
        self.generator = generator

    @property
    def num_samples(self) -> int:
        """How many indices one epoch has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    @property
    def is_long(self) -> bool:
        """Whether the samples are drawn so often that they are drawn while they are used."""
        return self.num_samples > max(_LONG, len(self.data_source))

    def __iter__(self) -> Iterator[int]:
        if not self.is_long:
            yield from super().__iter__()
            return
        source = self._as_in_pytorch()
        if source is None:
            source = _seeded_from(self.generator)
        for piece in self._pieces(source):
            yield from piece.tolist()

    def _as_in_pytorch(self) -> Any:
        """The generator that PyTorch would draw from; None where the stream is not its own."""
        if not draws_like_pytorch(self.generator):
            return None
        return _seeded_from(None) if self.generator is None else self.generator

    def _pieces(self, generator: Any) -> Iterator[Tensor]:
        """The order, a piece at a time."""
        size, left = len(self.data_source), self.num_samples
        while left > 0:
            if self.replacement:
                piece = flambeau.randint(size, (min(left, _PIECE),), generator=generator)
            else:
                piece = flambeau.randperm(size, generator=generator)[:left]
            yield piece
            left -= len(piece)

    def order(self) -> Tensor:
        """A new random order."""
        size, wanted = len(self.data_source), self.num_samples
        source = self._as_in_pytorch()
        # PyTorch draws an order that nobody sees, where as many samples are wanted as there are.
        spare = source is not None and size > 0 and wanted % size == 0
        source = self.generator if source is None else source
        if self.replacement:
            return flambeau.randint(size, (wanted,), generator=source)
        rounds = -(-wanted // max(size, 1)) + spare or 1
        parts = [flambeau.randperm(size, generator=source) for _ in range(rounds)]
        return (parts[0] if rounds == 1 else flambeau.cat(parts))[:wanted]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in a random order.

    Args:
        indices: The indices.
        generator: Where the random numbers come from.

    Example:
        >>> from flambeau.utils.data import SubsetRandomSampler
        >>> sorted(SubsetRandomSampler([5, 3]))
        [3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in flambeau.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given weights.

    Args:
        weights: A weight for every sample; they need not sum to one.
        num_samples: How many to draw.
        replacement: Whether a sample may be drawn again.
        generator: Where the random numbers come from.

    Raises:
        ValueError: ``num_samples`` is not positive, a weight is negative, infinite or nan, or
            there are too few positive weights.

    Example:
        >>> from flambeau.utils.data import WeightedRandomSampler
        >>> list(WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]
    """

    def __init__(
        self,
        weights: Iterable[float],
        num_samples: int,
        replacement: bool = True,
        generator: Any = None,
    ) -> None:
        check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement is True or False, not {replacement!r}")
        self.weights = _read_weights(weights)
        positive = sum(weight > 0 for weight in self.weights)
        if positive < (1 if replacement else num_samples):
            raise ValueError(
                f"cannot draw {num_samples} samples: only {positive} have a positive weight"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        if draws_like_pytorch(self.generator):
            weights = flambeau.tensor(self.weights, dtype=flambeau.float64)
            yield from flambeau.multinomial(
                weights, self.num_samples, self.replacement, generator=self.generator
            ).tolist()
            return
        yield from self._with_replacement() if self.replacement else self._without()

    def __len__(self) -> int:
        return self.num_samples

    def _uniforms(self, count: int) -> list[float]:
        drawn = flambeau.rand(count, dtype=flambeau.float64, generator=self.generator)
        return drawn.tolist()

    def _with_replacement(self) -> list[int]:
        ends = list(accumulate(self.weights))
        last = max(i for i, weight in enumerate(self.weights) if weight > 0)
        draws = self._uniforms(self.num_samples)
        return [min(bisect_right(ends, u * ends[-1]), last) for u in draws]

    def _without(self) -> list[int]:
        """The greatest ``u ** (1 / weight)`` are a weighted sample without replacement."""
        pairs = zip(self._uniforms(len(self.weights)), self.weights, strict=True)
        keys = [u ** (1.0 / weight) if weight > 0 else -1.0 for u, weight in pairs]
        return sorted(range(len(keys)), key=keys.__getitem__, reverse=True)[: self.num_samples]


class BatchSampler(Sampler[list[int]]):
    """Groups the indices of another sampler.

    Args:
        sampler: Any iterable of indices.
        batch_size: How many indices a batch has.
        drop_last: Whether to leave out a last batch that is smaller.

    Raises:
        ValueError: ``batch_size`` is not a positive number or ``drop_last`` not a bool.

    Example:
        >>> from flambeau.utils.data import BatchSampler
        >>> list(BatchSampler(range(5), 2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last is True or False, not {drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        size = len(self.sampler)  # type: ignore[arg-type]
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)


def _read_weights(weights: Iterable[float]) -> list[float]:
    """The weights as numbers; ``ValueError`` for what is no row of weights."""
    read = flambeau.as_tensor(
        weights if isinstance(weights, Tensor) else list(weights), dtype=flambeau.float64
    )
    if read.ndim != 1:
        raise ValueError(f"weights are a row of numbers, not of shape {tuple(read.shape)}")
    listed: list[float] = read.tolist()
    for i, weight in enumerate(listed):
        if not 0 <= weight < inf:
            raise ValueError(f"weights are at least 0 and finite, but weights[{i}] is {weight}")
    return listed
