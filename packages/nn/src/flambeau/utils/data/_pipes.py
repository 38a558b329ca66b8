"""What a ``DataLoader`` does with a pipeline: its order, its seeds, and the shares of workers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import rooms

from ._epoch import draw_seed
from ._info import get_worker_info


def is_pipe(dataset: Any) -> bool:
    """Whether a dataset is a stage that is iterated over; others load nothing of pipelines."""
    module = sys.modules.get(f"{__package__}.datapipes.datapipe")
    return module is not None and isinstance(dataset, module.IterDataPipe)


def with_shuffle(dataset: Any, shuffle: bool | None) -> tuple[Any, bool | None]:
    """A dataset, and whether a loader shuffles it: in a pipeline stages do."""
    if not is_pipe(dataset):
        return dataset, shuffle
    from .graph_settings import apply_shuffle_settings

    return apply_shuffle_settings(dataset, shuffle), None


def begin_pipe(loader: Any) -> None:
    """Seed all stages, the same in all workers; without workers take this process's share."""
    if not is_pipe(loader.dataset):
        return
    from .graph_settings import apply_random_seed, apply_sharding

    seeds = flambeau.Generator()
    seeds.manual_seed(_same_everywhere(draw_seed(loader.generator)))
    apply_random_seed(loader.dataset, seeds)
    if not loader.num_workers:
        apply_sharding(loader.dataset, *_processes())


def keeps_workers(loader: Any) -> bool:
    """Whether workers stay for the next epoch; those of a pipeline have the seeds of one."""
    return loader.persistent_workers and not is_pipe(loader.dataset)


def worker_init(loader: Any) -> Callable[[int], Any] | None:
    """What new workers call with their number."""
    init: Callable[[int], Any] | None = loader.worker_init_fn
    return _Share(init) if is_pipe(loader.dataset) else init


class _Share:
    """Gives each worker its share, then calls what the program gave for new workers."""

    def __init__(self, init: Callable[[int], Any] | None) -> None:
        self.init = init
        self.count, self.rank = _processes()

    def __call__(self, worker: int) -> None:
        from .graph_settings import apply_sharding

        info = get_worker_info()
        assert info is not None
        apply_sharding(info.dataset, info.num_workers * self.count, worker * self.count + self.rank)
        if self.init is not None:
            self.init(worker)


def _distributed() -> Any:
    """The module of coupled processes, if this is one of them."""
    module = sys.modules.get(f"{rooms.PREFIX}distributed")
    coupled = module is not None and module.is_available() and module.is_initialized()
    return module if coupled else None


def _processes() -> tuple[int, int]:
    """How many coupled processes there are, and which one this is."""
    coupled = _distributed()
    return (coupled.get_world_size(), coupled.get_rank()) if coupled else (1, 0)


def _same_everywhere(seed: int) -> int:
    """The seed of the first process."""
    coupled = _distributed()
    if coupled is None:
        return seed
    told = flambeau.tensor(seed)
    coupled.broadcast(told, src=0)
    return int(told.item())
