"""Making a batch of samples of different lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import flambeau
from flambeau import Tensor

from .collate import collate, default_collate_fn_map


def pad_collate(
    batch: Sequence[Any],
    padding_value: float = 0,
    side: str = "right",
    return_lengths: bool = False,
) -> Any:
    """Collate like ``default_collate``, but pad tensors to the longest in each dimension.

    Lists of numbers, such as the tokens of a text, count as tensors. Options are given with
    ``functools.partial(pad_collate, padding_value=-1)``.

    Args:
        batch: The samples; tensors at the same position have the same number of dimensions.
        padding_value: What fills the rest.
        side: Whether the ``"right"`` or the ``"left"`` of the first dimension is filled; other
            dimensions are filled on the right.
        return_lengths: Replace each padded tensor by a pair of it and of the lengths of its rows
            along the first dimension, int64 of shape (batch,).

    Raises:
        ValueError: ``side`` is neither, or tensors have different numbers of dimensions.

    Example:
        >>> from flambeau.utils.data import pad_collate
        >>> pad_collate([([5, 6, 7], 0), ([8], 1)])
        [tensor([[5, 6, 7],
                [8, 0, 0]]), tensor([0, 1])]
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', not {side!r}")
    stack = partial(_stack, value=padding_value, left=side == "left", lengths=return_lengths)
    functions: dict[Any, Any] = {**default_collate_fn_map, Tensor: stack}
    samples = [_numbers_to_tensors(sample) for sample in batch]
    return collate(samples, collate_fn_map=functions)


def _numbers_to_tensors(sample: Any) -> Any:
    """The sample with a tensor instead of each list of numbers."""
    if isinstance(sample, Mapping):
        return {key: _numbers_to_tensors(value) for key, value in sample.items()}
    if isinstance(sample, list) and all(isinstance(x, int | float) for x in sample):
        return flambeau.tensor(sample) if sample else flambeau.tensor([], dtype=flambeau.int64)
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*map(_numbers_to_tensors, sample))
    if isinstance(sample, list | tuple):
        return type(sample)(map(_numbers_to_tensors, sample))
    return sample


def _stack(
    tensors: Sequence[Tensor], *, value: float, left: bool, lengths: bool, collate_fn_map: Any
) -> Any:
    """One tensor of all, each padded to the greatest size in every dimension."""
    shapes = [tuple(tensor.shape) for tensor in tensors]
    if len({len(shape) for shape in shapes}) > 1:
        raise ValueError(f"pad_collate() pads sizes, not dimensions; the shapes are {shapes}")
    if not shapes[0]:
        return flambeau.stack(list(tensors))
    if len(set(shapes)) == 1:
        made = flambeau.stack(list(tensors))
    else:
        size = tuple(map(max, zip(*shapes, strict=True)))
        first = next((t for t in tensors if t.numel()), tensors[0])
        made = flambeau.full((len(tensors), *size), value, dtype=first.dtype, device=first.device)
        for row, tensor in zip(made, tensors, strict=True):
            start = size[0] - tensor.shape[0] if left else 0
            position = (slice(start, start + tensor.shape[0]), *map(slice, tensor.shape[1:]))
            row[position] = tensor
    if not lengths:
        return made
    return made, flambeau.tensor([shape[0] for shape in shapes], dtype=flambeau.int64)
