"""Datasets, samplers and the loader that makes batches."""

from typing import TYPE_CHECKING

from . import _utils
from ._info import WorkerInfo, get_worker_info
from .collate import default_collate, default_convert
from .dataloader import DataLoader
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
)
from .distributed import DistributedSampler
from .pad import pad_collate
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .split import random_split

if TYPE_CHECKING:   # pipelines load with the first of their names
    from .datapipes._decorator import (
        argument_validation,
        functional_datapipe,
        guaranteed_datapipes_determinism,
        non_deterministic,
        runtime_validation,
        runtime_validation_disabled,
    )
    from .datapipes.datapipe import DataChunk, DFIterDataPipe, IterDataPipe, MapDataPipe

_PIPES = {
    **dict.fromkeys(("argument_validation", "functional_datapipe",
                     "guaranteed_datapipes_determinism", "non_deterministic",
                     "runtime_validation", "runtime_validation_disabled"), "_decorator"),
    **dict.fromkeys(("DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"), "datapipe"),
}


def __getattr__(name: str) -> object:
    """What pipelines are made of, when it is first asked for."""
    if name not in _PIPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    import_module(f"{__name__}.datapipes")     # with the stages, which are methods by name
    value = getattr(import_module(f"{__name__}.datapipes.{_PIPES[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DFIterDataPipe",
    "DataChunk",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterDataPipe",
    "IterableDataset",
    "MapDataPipe",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "argument_validation",
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "pad_collate",
    "random_split",
    "runtime_validation",
    "runtime_validation_disabled",
    "_utils",
]
