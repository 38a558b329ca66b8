"""Reading samples: one by one, or a whole batch where the dataset is made of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor

from .dataset import Subset, TensorDataset

Gather = Callable[[Tensor], list[Tensor]]


def load_samples(dataset: Any, indices: list[Any]) -> Any:
    """The samples that ``indices`` names; an error's note tells the index."""
    if hasattr(dataset, "__getitems__"):
        return dataset.__getitems__(indices)
    samples = []
    for index in indices:
        try:
            samples.append(dataset[index])
        except Exception as error:
            error.add_note(f"while loading sample {index} of {type(dataset).__name__}")
            raise
    return samples


def gather_of(dataset: Any) -> Gather | None:
    """A function from a tensor of indices to a batch, if rows of tensors are all there is.

    Subclasses may override ``__getitem__``, so only the classes themselves count.
    """
    if type(dataset) is TensorDataset:
        return dataset.gather
    if type(dataset) is not Subset:
        return None
    gather = gather_of(dataset.dataset)
    if gather is None:
        return None
    chosen = flambeau.tensor(list(dataset.indices), dtype=flambeau.int64)
    return lambda index: gather(chosen.index_select(0, index))
