"""Sets: the different elements of arrays."""
from __future__ import annotations

from typing import Any, NamedTuple

import flambeau
from flambeau.array_api._promotion import as_arrays


class UniqueAll(NamedTuple):
    """What ``unique_all`` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What ``unique_counts`` gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What ``unique_inverse`` gives."""

    values: Any
    inverse_indices: Any


def _order(flat: Any) -> Any:
    """Indices that bring equal elements together, each in order; complex ones by both parts."""
    if not flat.is_complex():
        return flambeau.argsort(flat, stable=True)
    by_imag = flambeau.argsort(flat.imag, stable=True)
    return by_imag[flambeau.argsort(flat.real[by_imag], stable=True)]


def unique_all(x: Any, /) -> UniqueAll:
    """The different elements: where each is first, which of them is where, how often each is.

    No NaN equals another.
    """
    flat = x.reshape(-1)
    positions = _order(flat)
    ordered = flat[positions]
    starts = flambeau.ones_like(flat, dtype=flambeau.bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    first = flambeau.nonzero(starts)[:, 0]
    counts = flambeau.diff(first, append=first.new_full((1,), flat.numel()))
    inverse = flambeau.empty_like(positions)
    inverse[positions] = flambeau.cumsum(starts, 0) - 1
    return UniqueAll(ordered[first], positions[first], inverse.reshape(x.shape), counts)


def unique_counts(x: Any, /) -> UniqueCounts:
    """The different elements and how often each is there."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The different elements and which of them is where."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Any, /) -> Any:
    """The different elements."""
    return unique_all(x).values


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Whether each element is among those of another array, or is not with ``invert``."""
    return flambeau.isin(*as_arrays(x1, x2), invert=invert)


__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]
