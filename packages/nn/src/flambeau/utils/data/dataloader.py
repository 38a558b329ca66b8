"""``DataLoader``: batches of a dataset."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Generic

from flambeau import Tensor
from flambeau.core import draws_like_pytorch

from ._checks import StartContext, check_batches, check_dataset, check_order, check_workers
from ._epoch import Streams, begin, draw_seed, next_seed
from ._fetch import Fetcher, gathers
from ._info import get_worker_info
from ._pipes import begin_pipe, is_pipe, keeps_workers, with_shuffle, worker_init
from ._run import LoadHere, Progress, Run, forever, number_jobs
from .collate import default_collate, default_convert, stacks_tensors
from .dataset import IterableDataset, Sample
from .pin import pin_memory
from .sampler import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_FORMAT = 1
# What the order and the batches were made of: a later change would be half a change.
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
_SMALL_BATCH = 1 << 18  # bytes; gathering fewer takes less time than asking a thread to do it


class DataLoader(Generic[Sample]):
    """Iterates over a dataset in batches.

    The batches are the same for any number of workers of either kind: the order is drawn in the
    calling thread, batches come in that order, and every sample has a random stream of its own.
    An ``IterableDataset`` is the exception: see ``shard_iterable``.
    A ``TensorDataset`` or a tensor, or a ``Subset`` of one, with the default ``collate_fn`` is read
    a batch at a time.

    Args:
        dataset: Anything with ``__getitem__`` and ``__len__``, or an ``IterableDataset``.
        batch_size: Samples in a batch; ``None`` gives single samples.
        shuffle: Draw a new random order every epoch.
        sampler: The order, instead of ``shuffle``.
        batch_sampler: The batches of indices, instead of the four arguments around it.
        num_workers: How many workers load ahead; with 0 the calling thread loads.
        collate_fn: Makes a batch of a list of samples.
        pin_memory: Put batches into page-locked memory, where a device needs it; a batch of a
            type of one's own is asked for ``pin_memory()``.
        drop_last: Leave out a last batch that is smaller.
        timeout: Seconds to wait for a batch from a worker. 0: until a worker has spent 25 s on
            one sample. Dead workers are noticed in any case.
        worker_init_fn: Called in every worker with its number.
        multiprocessing_context: How processes start: ``"fork"``, ``"spawn"``, ``"forkserver"``
            or a context; Python's default when left out.
        generator: Where the random order and the epoch's seed come from.
        prefetch_factor: Batches loaded ahead by each worker; 2 when left out, 32 at most.
        persistent_workers: Keep the workers from one epoch to the next.
        pin_memory_device: The device's type that ``pin_memory`` is for; ``"cuda"`` if it can be
            used when left out.
        in_order: With ``False`` batches come as they are ready, in no fixed order.
        workers: ``"process"``, ``"thread"``, or ``None``: threads where whole batches are
            gathered by compiled code (and the calling thread alone where they are small),
            processes elsewhere.
        seed_samples: Give every sample its own random stream. ``False`` saves some
            10 µs per batch; random numbers drawn inside samples then depend on who loads what.
        shard_iterable: Every worker iterates over an ``IterableDataset`` of its own, which takes
            its share by ``get_worker_info()``; batches then depend on the number of workers.
            ``False`` lets one worker read it all.

    Raises:
        TypeError: The dataset has no samples.
        ValueError: Arguments that exclude each other, or numbers out of range.

    Example:
        >>> import flambeau
        >>> from flambeau.utils.data import DataLoader, TensorDataset
        >>> data = TensorDataset(flambeau.arange(5))
        >>> [batch.tolist() for (batch,) in DataLoader(data, batch_size=2)]
        [[0, 1], [2, 3], [4]]
    """

    _iterator: Any = None  # of PyTorch's, the run that workers are kept for; programs ask for it
    multiprocessing_context = StartContext()

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
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        workers: str | None = None,
        seed_samples: bool = True,
        shard_iterable: bool = True,
    ) -> None:
        dataset, shuffle = with_shuffle(dataset, shuffle)
        self._is_iterable = isinstance(dataset, IterableDataset)
        if not self._is_iterable:
            check_dataset(dataset)
        check_workers(num_workers, timeout, prefetch_factor, persistent_workers, workers)
        check_order(self._is_iterable, shuffle, sampler, batch_sampler)
        check_batches(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self.workers = workers
        self.multiprocessing_context = multiprocessing_context
        self.seed_samples = seed_samples
        self.shard_iterable = shard_iterable
        self.batch_size = None if batch_sampler is not None else batch_size
        self.drop_last = drop_last
        self.sampler: Any = sampler if sampler is not None else self._make_sampler(bool(shuffle))
        if self.batch_size is not None and not self._is_iterable:
            batch_sampler = BatchSampler(self.sampler, self.batch_size, drop_last)
        self.batch_sampler: Any = batch_sampler
        default = default_collate if self._auto_collation else default_convert
        self.collate_fn = default if collate_fn is None else collate_fn
        self._epoch = 0  # epochs begun
        self._runs = 0
        self._current: Progress | None = None
        self._resume: dict[str, Any] | None = None
        self._pool: Any = None
        self._served: Any = None  # a weak reference to the run that the kept workers serve
        self._told_length: int | None = None  # of an iterable dataset, once somebody asked
        self._made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and "_made" in self.__dict__:
            raise ValueError(
                f"{name} of a DataLoader cannot be changed: make another DataLoader with {name}=..."
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        resume, self._resume = self._resume, None
        streams = self._streams()
        if resume is None:
            self._epoch += 1
            start, skip = streams.state(), 0
            begin_pipe(self)
            # Kept workers need no new seed, so that PyTorch draws none; here the order of batches
            # does not depend on workers.
            if self._keeps_workers() and draws_like_pytorch(self.generator):
                start["kept"] = True
                seed = next_seed(self.generator)
            else:
                seed = draw_seed(self.generator)
            if self.num_workers and is_pipe(self.dataset):
                draw_seed(self.generator)       # PyTorch draws for a pipeline's workers twice
        else:
            start, seed, skip = resume["start"], resume["seed"], resume["batches"]
            with streams.at(start):
                begin_pipe(self)
        mode = self._mode()
        orders = self._orders(mode)
        if mode == "next":
            indices: Iterator[Any] = orders()
        else:
            generator = self.generator
            indices = begin(orders, generator, streams, resume and start, skip)
        self._runs += 1
        self._current = progress = Progress(start, seed, skip, self._told_length)
        replayed = skip if mode == "next" and self.shard_iterable else 0
        batches = self._run(mode, indices, seed, skip - replayed)
        for _ in range(replayed):
            next(batches, None)
        pin = partial(pin_memory, device=self.pin_memory_device) if self.pin_memory else None
        return Run(batches, progress, pin)

    @property
    def _auto_collation(self) -> bool:
        """Whether samples are grouped into batches."""
        return self.batch_size is not None or self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """What yields the indices of one batch, or of one sample."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __len__(self) -> int:
        if not self._is_iterable:
            return len(self._index_sampler)
        size = len(self.dataset)
        if self.batch_size is not None:
            size = size // self.batch_size if self.drop_last else -(-size // self.batch_size)
        self._told_length = size
        return size

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: the epoch, its random order, and how many batches were taken.

        Take it inside the loop, after a batch, or between two epochs. Batches that workers have
        loaded ahead do not count. A random order comes from ``generator``, whose state is in it;
        without one it comes from the default generator, whose state is not, so that epochs
        after the current one are the same only if that is restored as well
        (``flambeau.save_training_state`` does both).

        Returns:
            Numbers, strings, lists and dicts.

        Raises:
            ValueError: Batches of several workers come in no order, and some were taken.

        Example:
            >>> from flambeau.utils.data import DataLoader
            >>> loader = DataLoader(range(6), batch_size=2, shuffle=True)
            >>> batches = iter(loader)
            >>> taken = next(batches)
            >>> state = loader.state_dict()
            >>> again = DataLoader(range(6), batch_size=2, shuffle=True)
            >>> again.load_state_dict(state)
            >>> [a.equal(b) for a, b in zip(batches, again, strict=True)]
            [True, True]
        """
        state = {"format": _FORMAT, "epoch": self._epoch, "signature": self._signature()}
        if self._resume is not None:
            return {**state, **self._resume}
        state["now"] = self._streams().own_states()
        run = self._current
        if run is None or run.finished:
            return {**state, "seed": None, "start": None, "batches": 0}
        if not self.in_order and self.num_workers > 1 and run.taken:
            raise ValueError(
                "with in_order=False nobody knows which batches were left: save the state between "
                "two epochs, or leave in_order out"
            )
        return {**state, "seed": run.seed, "start": run.start, "batches": run.taken}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where another loader was when ``state_dict()`` was called.

        The next ``for`` loop yields the batches that were left of the epoch; if the last one had
        been taken but the loop not left, it yields none. Samples that were taken are not loaded,
        except those of an ``IterableDataset``, which can only be passed over.

        Args:
            state_dict: What ``state_dict()`` returned.

        Raises:
            ValueError: The loader has another dataset or other arguments than the saved one.
        """
        if state_dict.get("format") != _FORMAT:
            raise ValueError(
                f"a DataLoader state of format {state_dict.get('format')!r}; this version reads "
                f"format {_FORMAT}"
            )
        for name, now in self._signature().items():
            then = state_dict["signature"].get(name)
            if then != now:
                raise ValueError(
                    f"the state was saved by a DataLoader with {name} {then!r}, but this one has "
                    f"{now!r}"
                )
        self._streams().set_own_states(state_dict["now"])
        self._epoch = state_dict["epoch"]
        self._current = None
        keys = ("seed", "start", "batches", "now")
        self._resume = (
            None if state_dict["seed"] is None else {key: state_dict[key] for key in keys}
        )

    def _signature(self) -> dict[str, Any]:
        """What must agree for a state to mean the same batches."""
        known = hasattr(type(self.dataset), "__len__")
        batches = self.batch_sampler
        return {
            "dataset length": len(self.dataset) if known else None,
            "batch_size": getattr(batches, "batch_size", self.batch_size),
            "drop_last": bool(getattr(batches, "drop_last", self.drop_last)),
            "sampler": type(self.sampler if self.batch_size else batches).__name__,
        }

    def _streams(self) -> Streams:
        inner = getattr(self.batch_sampler, "sampler", None)
        samplers = [self.sampler, self.batch_sampler, inner]
        kept = {id(each): each for each in samplers if each is not None}
        return Streams(self.generator, list(kept.values()))

    def _make_sampler(self, shuffle: bool) -> Any:
        if self._is_iterable:
            return None
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def _mode(self) -> str:
        """What a job holds; see ``Fetcher``."""
        if self._is_iterable:
            return "next"
        if not self._auto_collation:    # which subclasses override, as the sampler of indices
            return "one"
        plain = self.collate_fn is default_collate and stacks_tensors()
        whole = plain and gathers(self.dataset)
        return "rows" if whole else "batch"

    def _orders(self, mode: str) -> Callable[[], Iterator[Any]]:
        """A function that draws an order and gives the iterator over it."""
        if mode == "next":
            return forever
        if mode == "one":
            return lambda: iter(self._index_sampler)
        batches = self.batch_sampler
        known = (SequentialSampler, RandomSampler)
        ordered = type(batches) is BatchSampler and type(batches.sampler) in known
        if mode == "rows" and ordered and not batches.sampler.is_long:
            return self._tensor_batches
        return lambda: map(list, self._index_sampler)

    def _tensor_batches(self) -> Iterator[Any]:
        """The batches as tensors of indices."""
        batches: Any = self.batch_sampler
        order = batches.sampler.order()
        size = batches.batch_size
        stop = len(batches) * size
        return (order[start : start + size] for start in range(0, stop, size))

    def _run(self, mode: str, indices: Iterator[Any], seed: int, skip: int) -> Iterator[Any]:
        """The batches, made by workers or by the calling thread."""
        kind = self._kind_of_workers(mode)
        size, drop = self.batch_size, self.drop_last
        jobs = number_jobs(indices, self._runs, seed, skip)
        fetcher = Fetcher(self.dataset, self.collate_fn, mode, size, drop, self.seed_samples)
        if kind is None:
            return map(fetcher.gather, indices) if mode == "rows" else LoadHere(fetcher, jobs)
        from ._ahead import Ahead
        from ._processes import UNDER_WAY

        # What an iterator yields can only be read in turn: one worker does it.
        whole = mode == "next" and not self.shard_iterable
        count = 1 if whole else self.num_workers
        pool = self._find_pool(fetcher, kind, count, seed)
        prefetch = min(self.prefetch_factor or 2, UNDER_WAY)
        ahead = min(self.num_workers * prefetch, UNDER_WAY * count)
        keep = keeps_workers(self)
        run = Ahead(pool, jobs, count, ahead, self.timeout, self.in_order, keep)
        if keep:
            self._supersede(run)
        return run

    def _supersede(self, run: Any) -> None:
        """Tell the run that the kept workers have served so far that they serve another one."""
        former = self._served() if self._served is not None else None
        if former is not None and not former.finished:
            former.superseded = True
        self._served = weakref.ref(run)

    def _kind_of_workers(self, mode: str) -> str | None:
        if self.num_workers == 0:
            return None
        if self.workers is not None:
            return self.workers
        if self.multiprocessing_context is not None or self.worker_init_fn is not None:
            return "process"
        if mode != "rows":
            return "process"
        sample = self.dataset[0] if len(self.dataset) else ()
        rows = (sample,) if isinstance(sample, Tensor) else sample
        size = sum(row.nbytes for row in rows) * (self.batch_size or 1)
        return "thread" if size > _SMALL_BATCH else None

    def _keeps_workers(self) -> bool:
        return self._pool is not None and bool(self._pool.close.alive)

    def _find_pool(self, fetcher: Fetcher, kind: str, count: int, seed: int) -> Any:
        """The workers of the last epoch if they are kept, else new ones."""
        if self._keeps_workers():
            return self._pool
        from ._pool import Setup
        from ._processes import ProcessPool
        from ._threads import ThreadPool

        setup = Setup(fetcher, count, count, seed, worker_init(self))
        if kind == "thread":
            pool: Any = ThreadPool(setup)
        else:
            pool = ProcessPool(setup, self.multiprocessing_context)
        self._pool = pool if keeps_workers(self) else None
        return pool
