"""What libraries ask of a run through a data loader: which kind it is."""
from __future__ import annotations

from typing import Any

from flambeau import rooms

_run: Any = rooms.enter("utils.data")._run
_BaseDataLoaderIter = _run.Run


class _ByWorkers(type):
    """The runs with workers, or those without, as a class."""

    with_workers: bool

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _BaseDataLoaderIter) and (
            isinstance(instance._batches, _run.LoadHere) is not cls.with_workers)


class _SingleProcessDataLoaderIter(metaclass=_ByWorkers):
    """Runs whose batches the calling thread makes."""

    with_workers = False


class _MultiProcessingDataLoaderIter(metaclass=_ByWorkers):
    """Runs whose batches workers make."""

    with_workers = True


class _DatasetKind:
    """Whether a dataset is asked for samples by their indices, or gives one after the other."""

    Map = 0
    Iterable = 1
