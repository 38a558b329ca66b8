"""Making a batch of samples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import flambeau
from flambeau import Tensor

Stack = Callable[[list[Tensor]], Any]


def default_collate(batch: Sequence[Any]) -> Any:
    """Stack samples into a batch, whatever structure they share.

    Tensors and arrays get a new first dimension; numbers become a tensor (float64, int64 or
    bool); strings stay as they are; dicts, tuples and lists are collated element by element, to
    dicts and lists.

    Args:
        batch: The samples, at least one; or a tensor whose rows they are, which is the batch.

    Raises:
        TypeError: Samples of this type cannot be collated.
        RuntimeError: Samples are lists of different lengths, or tensors of different shapes.

    Example:
        >>> from flambeau.utils.data import default_collate
        >>> default_collate([(1, "a"), (2, "b")])
        [tensor([1, 2]), ('a', 'b')]
    """
    if isinstance(batch, Tensor):
        return batch
    return collate(batch, _stack)


def collate(batch: Sequence[Any], stack: Stack) -> Any:
    """``default_collate`` with another way to put tensors together."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch))
    if type(first).__module__ == "numpy":
        return stack([flambeau.as_tensor(sample) for sample in batch])
    if isinstance(first, bool | int | float):
        return flambeau.tensor(list(batch), dtype=_dtype_of_numbers(batch))
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        columns = {key: collate([sample[key] for sample in batch], stack) for key in first}
        return _like(first, columns)
    if isinstance(first, Sequence):
        return _collate_sequences(batch, stack)
    raise TypeError(
        f"default_collate() cannot make a batch of {type(first).__name__}; samples are tensors, "
        "arrays, numbers, strings, dicts, tuples or lists, or pass collate_fn=..."
    )


def default_convert(data: Any) -> Any:
    """Turn NumPy arrays in one sample into tensors; what ``DataLoader`` does without batches.

    Args:
        data: A sample.

    Example:
        >>> from flambeau.utils.data import default_convert
        >>> default_convert([1, "a"])
        [1, 'a']
    """
    if type(data).__module__ == "numpy":
        return flambeau.as_tensor(data) if data.dtype.kind in "biufc" else data
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple | list):
        return [default_convert(value) for value in data]
    return data


def _stack(tensors: list[Tensor]) -> Tensor:
    try:
        return flambeau.stack(tensors)
    except RuntimeError as error:
        shapes = sorted({tuple(tensor.shape) for tensor in tensors})
        if len(shapes) > 1:
            error.add_note(
                f"the samples of a batch have the shapes {shapes}; pass collate_fn=pad_collate to "
                "pad them"
            )
        raise


def _dtype_of_numbers(batch: Sequence[Any]) -> Any:
    if isinstance(batch[0], bool):
        return flambeau.bool
    return flambeau.int64 if isinstance(batch[0], int) else flambeau.float64


def _like(first: Mapping[Any, Any], columns: dict[Any, Any]) -> Any:
    """The columns in a mapping of the samples' own type, where that can be copied and filled."""
    if type(first) is dict or not isinstance(first, MutableMapping):
        return columns
    made = copy.copy(first)
    made.update(columns)
    return made


def _collate_sequences(batch: Sequence[Any], stack: Stack) -> Any:
    first = batch[0]
    lengths = sorted({len(sample) for sample in batch})
    if len(lengths) > 1:
        raise RuntimeError(
            f"the samples of a batch have different lengths ({lengths}); pad them with "
            "collate_fn=pad_collate, or pass a collate_fn that keeps them apart"
        )
    columns = [collate(column, stack) for column in zip(*batch, strict=True)]
    return type(first)(*columns) if hasattr(first, "_fields") else columns
