"""Dividing a dataset at random."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import flambeau

from .dataset import Subset


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Any = None
) -> list[Subset[Any]]:
    """Divide a dataset at random into parts without overlap.

    Args:
        dataset: What to divide.
        lengths: The size of every part, or fractions that sum to one.
        generator: Where the random numbers come from.

    Raises:
        ValueError: The sizes do not sum to the size of the dataset.

    Example:
        >>> from flambeau.utils.data import random_split
        >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
        [8, 2]
    """
    total = len(dataset)
    sizes = _sizes(lengths, total)
    if sum(sizes) != total:
        raise ValueError(
            f"the lengths {list(lengths)} sum to {sum(sizes)}, but the dataset has {total} samples"
        )
    order = flambeau.randperm(total, generator=generator).tolist()
    ends = list(accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def _sizes(lengths: Sequence[int | float], total: int) -> list[int]:
    """Sizes from fractions that sum to one; what rounding leaves goes to the first parts."""
    if not math.isclose(sum(lengths), 1) or sum(lengths) > 1 + 1e-9:
        return [int(length) for length in lengths]
    if any(not 0 <= length <= 1 for length in lengths):
        raise ValueError(f"fractions lie between 0 and 1, not {list(lengths)}")
    sizes = [math.floor(total * length) for length in lengths]
    for i in range(total - sum(sizes)):
        sizes[i % len(sizes)] += 1
    for i, size in enumerate(sizes):
        if size == 0:
            warnings.warn(
                f"lengths[{i}], {lengths[i]} of {total} samples, gives an empty dataset",
                stacklevel=3,
            )
    return sizes
