"""Indexing as PyTorch defines it, on NumPy arrays: first everything that gives a view, then arrays.

NumPy takes integers for arrays as soon as there is one, which moves dimensions; PyTorch takes
arrays without dimensions for integers.
"""

from __future__ import annotations

import numpy as np


def _takes(part) -> int:
    """How many dimensions of the array a part of the index stands for."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype == bool else 1


def _spread(index: tuple, ndim: int) -> list:
    """The index without an ellipsis: one entry, or None, for every dimension."""
    missing = ndim - sum(map(_takes, index))
    if missing < 0:
        raise IndexError("too many indices")
    at = [i for i, part in enumerate(index) if part is Ellipsis]
    if len(at) > 1:
        raise IndexError("more than one ellipsis")
    head, tail = (index[:at[0]], index[at[0] + 1:]) if at else (index, ())
    return [*head, *[slice(None)] * missing, *tail]


def _expect_fit(part: np.ndarray, sizes: tuple) -> None:
    """A mask's sizes are those of the tensor, or 0; NumPy looks at none if there is a 0."""
    if part.dtype != bool:
        return
    fits = [m in (n, 0) for m, n in zip(part.shape, sizes, strict=False)]
    if part.ndim > len(sizes) or not all(fits):
        raise IndexError("a mask of another shape")


def steps(array: np.ndarray, index: tuple):
    """The view that the basic parts give, and what is left to index it with."""
    first, second = [], []
    for part in _spread(index, array.ndim):
        if isinstance(part, np.ndarray) and part.ndim == 0 and part.dtype != bool:
            part = int(part)
        if isinstance(part, np.ndarray):
            _expect_fit(part, array.shape[sum(p is not None for p in first):])
            first += [slice(None)] * _takes(part)
            second.append(part if part.dtype == bool else part.astype(np.int64))
            continue
        first.append(part)
        if not isinstance(part, int):
            second.append(slice(None))
    rest = tuple(second) if any(isinstance(p, np.ndarray) for p in second) else ()
    return array[(*first, ...)], rest      # with dots also a 0-d result is a view


def read(array: np.ndarray, index: tuple) -> np.ndarray:
    """``array[index]``."""
    view, rest = steps(array, index)
    return view[rest] if rest else view


def written(array: np.ndarray, index: tuple, value) -> np.ndarray:
    """A copy of the array after ``array[index] = value``."""
    result = array.copy()
    view, rest = steps(result, index)
    view[rest if rest else ...] = value
    return result
