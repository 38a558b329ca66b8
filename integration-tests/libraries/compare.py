"""Compares what a program gives with Flambeau and with PyTorch, within a tolerance."""

from __future__ import annotations

from typing import Any

import numpy


def difference(ours: Any, theirs: Any) -> float:
    """The largest difference, relative to the larger of one and the largest element.

    Infinite where kinds, shapes, texts or integers are others.
    """
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if list(ours) != list(theirs):
            return numpy.inf
        return max((difference(ours[key], theirs[key]) for key in ours), default=0.0)
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return numpy.inf
        return max(map(difference, ours, theirs), default=0.0)
    if isinstance(ours, str | bool | None) or isinstance(theirs, str | bool | None):
        return 0.0 if type(ours) is type(theirs) and ours == theirs else numpy.inf
    return of_arrays(numpy.asarray(ours), numpy.asarray(theirs))


def of_arrays(ours: numpy.ndarray, theirs: numpy.ndarray) -> float:
    """`difference` of two arrays."""
    if ours.shape != theirs.shape or ours.dtype.kind != theirs.dtype.kind:
        return numpy.inf
    if ours.dtype == numpy.uint8:   # pictures: a rounding may fall to the other side
        return float(abs(ours.astype(float) - theirs).mean()) / 255 if ours.size else 0.0
    if ours.dtype.kind not in "fc":
        return 0.0 if numpy.array_equal(ours, theirs) else numpy.inf
    finite = numpy.isfinite(theirs)
    if not numpy.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return numpy.inf
    if not finite.any():
        return 0.0
    scale = max(1.0, float(abs(theirs[finite]).max()))
    found = float(abs(ours[finite] - theirs[finite]).max()) / scale
    return found if numpy.isfinite(found) else numpy.inf
