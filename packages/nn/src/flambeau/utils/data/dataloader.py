"""``DataLoader``: batches of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from ._fetch import gather_of, load_samples
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler

if TYPE_CHECKING:
    from flambeau import Tensor


class DataLoader:
    """Iterates over a dataset in batches.

    The batches are the same for any number of workers: the order is drawn in the calling
    thread, and batches come in that order. A ``TensorDataset`` with the default ``collate_fn``
    is read a batch at a time. Random numbers drawn inside ``__getitem__`` by several workers
    come in no fixed order; for those, seed a generator from the index.

    Args:
        dataset: Anything with ``__getitem__`` and ``__len__``, or an ``IterableDataset``.
        batch_size: Samples in a batch; ``None`` gives single samples.
        shuffle: Draw a new random order every epoch.
        sampler: The order, instead of ``shuffle``.
        batch_sampler: The batches of indices, instead of the four arguments around it.
        num_workers: Threads that load ahead; with 0 the calling thread loads.
        collate_fn: Makes a batch of a list of samples.
        pin_memory: Accepted for PyTorch's sake; without effect.
        drop_last: Leave out a last batch that is smaller.
        timeout: Seconds to wait for a batch from a worker; 0 waits for ever.
        worker_init_fn: Called in every worker with its number.
        multiprocessing_context: Only ``None``: workers are threads.
        generator: Where the random order comes from.
        prefetch_factor: Batches loaded ahead by each worker; 2 when left out.
        persistent_workers: Accepted for PyTorch's sake; without effect.

    Raises:
        ValueError: Arguments that exclude each other, or numbers out of range.

    Example:
        >>> import flambeau
        >>> from flambeau.utils.data import DataLoader, TensorDataset
        >>> data = TensorDataset(flambeau.arange(5))
        >>> [batch.tolist() for (batch,) in DataLoader(data, batch_size=2)]
        [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: None = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
    ) -> None:
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self._is_iterable = isinstance(dataset, IterableDataset)
        _check_workers(num_workers, timeout, prefetch_factor, multiprocessing_context)
        _check_order(self._is_iterable, shuffle, sampler, batch_sampler)
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler decides batch_size, shuffle, sampler and drop_last: leave "
                    "these four out"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("drop_last=True needs batches, but batch_size is None")
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler if sampler is not None else self._make_sampler(bool(shuffle))
        if batch_size is not None and not self._is_iterable:
            batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        batched = batch_size is not None or batch_sampler is not None
        default = default_collate if batched else default_convert
        self.collate_fn = default if collate_fn is None else collate_fn

    def __iter__(self) -> Iterator[Any]:
        if self._is_iterable:
            return self._run(self._iterate_samples(), None)
        gather = gather_of(self.dataset) if self.collate_fn is default_collate else None
        orders = self._tensor_batches() if gather is not None else None
        if orders is not None:
            return self._run(orders, gather)
        if self.batch_sampler is None:
            return self._run(iter(self.sampler), self._load_one)
        return self._run(iter(self.batch_sampler), self._load_batch)

    def __len__(self) -> int:
        if not self._is_iterable:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]
        size = len(self.dataset)
        if self.batch_size is None:
            return size
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)

    def _run(self, jobs: Iterator[Any], load: Callable[[Any], Any] | None) -> Iterator[Any]:
        """Batches from jobs; ``load`` makes a batch of a job, ``None`` if it is one already."""
        if self.num_workers == 0:
            return jobs if load is None else map(load, jobs)
        from ._workers import Plan, load_ahead

        # What an iterator yields can only be read in turn: one thread does it.
        workers = 1 if load is None else self.num_workers
        ahead = self.num_workers * (self.prefetch_factor or 2)
        timeout = self.timeout or None
        plan = Plan(workers, ahead, timeout, self.dataset, self.worker_init_fn)
        if load is not None:
            return load_ahead(plan, jobs, load)
        return _until_end(load_ahead(plan, _forever(), lambda _: next(jobs, _END)))

    def _make_sampler(self, shuffle: bool) -> Any:
        if self._is_iterable:
            return None
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def _tensor_batches(self) -> Iterator[Tensor] | None:
        """The batches as tensors of indices, where the samplers are our own."""
        batches = self.batch_sampler
        if type(batches) is not BatchSampler:
            return None
        sampler = batches.sampler
        if type(sampler) not in (SequentialSampler, RandomSampler):
            return None
        order: Tensor = sampler.order()  # type: ignore[attr-defined]
        size = batches.batch_size
        stop = len(batches) * size
        return (order[start : start + size] for start in range(0, stop, size))

    def _iterate_samples(self) -> Iterator[Any]:
        """Batches, or single samples, of an ``IterableDataset``."""
        samples = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, samples)
            return
        while batch := list(islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def _load_one(self, index: Any) -> Any:
        return self.collate_fn(load_samples(self.dataset, [index])[0])

    def _load_batch(self, indices: Any) -> Any:
        return self.collate_fn(load_samples(self.dataset, list(indices)))


_END = object()


def _forever() -> Iterator[None]:
    while True:
        yield None


def _until_end(items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        if item is _END:
            return
        yield item


def _check_workers(
    workers: int, timeout: float, prefetch_factor: int | None, context: object
) -> None:
    if workers < 0:
        raise ValueError(f"num_workers is at least 0, not {workers}")
    if timeout < 0:
        raise ValueError(f"timeout is at least 0, not {timeout}")
    if prefetch_factor is not None and (workers == 0 or prefetch_factor < 1):
        raise ValueError(
            f"prefetch_factor={prefetch_factor} needs num_workers of at least 1 and is itself at "
            "least 1"
        )
    if context is not None:
        raise ValueError("multiprocessing_context is None here: workers are threads")


def _check_order(iterable: bool, shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    if iterable and (shuffle or sampler is not None or batch_sampler is not None):
        raise ValueError(
            "an IterableDataset has its own order: leave out shuffle, sampler and batch_sampler"
        )
    if shuffle and sampler is not None:
        raise ValueError("shuffle=True and sampler exclude each other: the sampler is the order")
