"""Making a batch of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flambeau
from flambeau import Tensor


def default_collate(batch: Sequence[Any]) -> Any:
    """Stack samples into a batch, whatever structure they share.

    Tensors and arrays get a new first dimension; numbers become a tensor (float64, int64 or
    bool); strings stay a list; dicts, tuples and lists are collated element by element, tuples
    to lists.

    Args:
        batch: The samples, at least one.

    Raises:
        TypeError: Samples of this type cannot be collated.
        RuntimeError: Samples are lists of different lengths.

    Example:
        >>> default_collate([(1, "a"), (2, "b")])
        [tensor([1, 2]), ['a', 'b']]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return flambeau.stack(list(batch))
    if type(first).__module__ == "numpy":
        return _collate_numpy(batch)
    if isinstance(first, bool | int | float):
        return flambeau.tensor(list(batch), dtype=_dtype_of_numbers(batch))
    if isinstance(first, str | bytes):
        return list(batch)
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, tuple | list):
        return _collate_sequences(batch)
    raise TypeError(
        f"default_collate() cannot make a batch of {type(first).__name__}; samples are tensors, "
        "arrays, numbers, strings, dicts, tuples or lists, or pass collate_fn=..."
    )


def default_convert(data: Any) -> Any:
    """Turn NumPy arrays in one sample into tensors; what ``DataLoader`` does without batches.

    Args:
        data: A sample.

    Example:
        >>> default_convert([1, "a"])
        [1, 'a']
    """
    if type(data).__module__ == "numpy":
        return flambeau.as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple | list):
        return [default_convert(value) for value in data]
    return data


def _collate_numpy(batch: Sequence[Any]) -> Tensor:
    return flambeau.stack([flambeau.as_tensor(sample) for sample in batch])


def _dtype_of_numbers(batch: Sequence[Any]) -> Any:
    if isinstance(batch[0], bool):
        return flambeau.bool
    return flambeau.int64 if isinstance(batch[0], int) else flambeau.float64


def _collate_sequences(batch: Sequence[Any]) -> Any:
    first = batch[0]
    lengths = sorted({len(sample) for sample in batch})
    if len(lengths) > 1:
        raise RuntimeError(
            f"the samples of a batch have different lengths ({lengths}); pad them, or pass "
            "collate_fn=... that keeps them apart"
        )
    columns = [default_collate(column) for column in zip(*batch, strict=True)]
    return type(first)(*columns) if hasattr(first, "_fields") else columns
