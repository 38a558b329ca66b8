"""Making a batch of samples."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import flambeau
from flambeau import Tensor

# What makes a batch of samples of a type: ``function(batch, *, collate_fn_map)``.
Functions = Mapping[Any, Callable[..., Any]]


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
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: Functions | None = None) -> Any:
    """``default_collate`` with other functions for some types.

    Args:
        batch: The samples, at least one.
        collate_fn_map: For a type, or a tuple of types, the function that makes a batch of
            samples of it, ``function(batch, *, collate_fn_map)``. Mappings and sequences that are
            not in it are collated element by element.

    Raises:
        TypeError: There is no function for samples of this type.

    Example:
        >>> from flambeau.utils.data._utils.collate import collate
        >>> collate([(1, 2), (3, 4)], collate_fn_map={int: lambda batch, **_: sum(batch)})
        [4, 6]
    """
    first = batch[0]
    functions = {} if collate_fn_map is None else collate_fn_map
    function = _find(first, functions)
    if function is not None:
        return function(batch, collate_fn_map=functions)
    if isinstance(first, Mapping):
        columns = {
            key: collate([sample[key] for sample in batch], collate_fn_map=functions)
            for key in first
        }
        return _like(first, columns)
    if isinstance(first, Sequence):
        return _collate_sequences(batch, functions)
    kind = type(first).__name__
    if hasattr(first, "dtype"):
        kind = f"{kind} of {first.dtype}"
    raise TypeError(
        f"default_collate() cannot make a batch of {kind}; samples are tensors, "
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
    if is_numeric_array(data):
        return flambeau.as_tensor(data)
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _as_sequence(data, [default_convert(value) for value in data])
    return data


def is_numeric_array(value: Any) -> bool:
    """Whether this is an array or a scalar of NumPy's that holds numbers; NumPy stays unloaded."""
    return type(value).__module__ == "numpy" and value.dtype.kind in "biufc"


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Functions | None = None) -> Any:
    """Tensors get a new first dimension."""
    try:
        return flambeau.stack(list(batch))
    except RuntimeError as error:
        shapes = sorted({tuple(tensor.shape) for tensor in batch})
        if len(shapes) > 1:
            error.add_note(
                f"the samples of a batch have the shapes {shapes}; pass collate_fn=pad_collate to "
                "pad them"
            )
        raise


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Functions | None = None) -> Any:
    """Arrays, and numbers of NumPy's, are collated as the tensors they become.

    Arrays that are alike are copied side by side at once.
    """
    first = batch[0]
    plain = collate_fn_map is not None and collate_fn_map.get(Tensor) is collate_tensor_fn
    if plain and first.ndim and all(_alike(first, sample) for sample in batch):
        return flambeau.from_numpy(sys.modules["numpy"].array(batch))
    tensors = [flambeau.as_tensor(sample) for sample in batch]
    return collate(tensors, collate_fn_map=collate_fn_map)


def _alike(first: Any, sample: Any) -> bool:
    same = type(sample) is type(first) and sample.dtype == first.dtype
    return bool(same and sample.shape == first.shape)


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: Functions | None = None) -> Tensor:
    """Integers and booleans become a tensor that holds them all."""
    return flambeau.tensor(list(batch))


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: Functions | None = None) -> Tensor:
    """Floats become a tensor in double precision."""
    return flambeau.tensor(list(batch), dtype=flambeau.float64)


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: Functions | None = None) -> Any:
    """Strings stay as they are."""
    return batch


#: What ``default_collate`` does with samples that are not mappings or sequences; programs add
#: their own types. NumPy's, which is not imported here, go by ``Tensor``.
default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def stacks_tensors() -> bool:
    """Whether ``default_collate`` stacks tensors: no program has put its own function there."""
    return default_collate_fn_map.get(Tensor) is collate_tensor_fn


def _find(sample: Any, functions: Functions) -> Callable[..., Any] | None:
    """The function for a sample: for its very type, or for the first type it is an instance of."""
    function = functions.get(type(sample))
    if function is not None:
        return function
    if Tensor in functions and is_numeric_array(sample):
        return collate_numpy_array_fn
    return next((functions[kind] for kind in functions if isinstance(sample, kind)), None)


def _like(first: Mapping[Any, Any], columns: dict[Any, Any]) -> Any:
    """The columns in a mapping of the samples' own type, where that can be copied and filled."""
    if type(first) is dict or not isinstance(first, MutableMapping):
        return columns
    made = copy.copy(first)
    made.update(columns)
    return made


def _as_sequence(first: Sequence[Any], values: list[Any]) -> Any:
    """The values in a sequence of the samples' own type; tuples without names become lists."""
    if hasattr(first, "_fields"):
        return type(first)(*values)
    if type(first) in (list, tuple):
        return values
    try:
        if not isinstance(first, MutableSequence):
            return type(first)(values)  # type: ignore[call-arg]
        made = copy.copy(first)
        for i, value in enumerate(values):
            made[i] = value
        return made
    except TypeError:  # it cannot be made, or filled, in this way
        return values


def _collate_sequences(batch: Sequence[Any], functions: Functions) -> Any:
    lengths = sorted({len(sample) for sample in batch})
    if len(lengths) > 1:
        raise RuntimeError(
            f"the samples of a batch have different lengths ({lengths}); pad them with "
            "collate_fn=pad_collate, or pass a collate_fn that keeps them apart"
        )
    columns = [collate(column, collate_fn_map=functions) for column in zip(*batch, strict=True)]
    return _as_sequence(batch[0], columns)
