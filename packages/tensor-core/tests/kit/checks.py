"""Comparisons of results with expected values."""

from __future__ import annotations

import numpy
import tolerances
from arrays import name_of, values


def same(given, expected, factor: float = 1.0) -> None:
    """Equal dtype, shape and values, within the tolerance of the dtype.

    Args:
        given: A tensor, a number, or a tuple of them.
        expected: The same from another library.
        factor: Multiplies the tolerance, for long sums.
    """
    if isinstance(expected, (tuple, list)):
        assert len(given) == len(expected)
        for a, b in zip(given, expected, strict=True):
            same(a, b, factor)
        return
    if not hasattr(expected, "shape"):
        assert given == expected and type(given) is type(expected)
        return
    assert name_of(given) == name_of(expected)
    assert tuple(given.shape) == tuple(expected.shape)
    close(values(given), values(expected), name_of(expected), factor)


def close(given, expected, dtype: str, factor: float = 1.0) -> None:
    """Arrays equal within the tolerance of a dtype; NaN equals NaN."""
    if tolerances.is_exact(dtype):
        numpy.testing.assert_array_equal(given, expected)
        return
    relative, absolute = tolerances.relative_absolute(dtype)
    numpy.testing.assert_allclose(given, expected, rtol=relative * factor,
                                  atol=absolute * factor, equal_nan=True)


def within_ulps(given, exact, dtype: str) -> None:
    """Values within so many units in the last place of exact ones, given in higher precision."""
    for g, e in zip(numpy.ravel(given), numpy.ravel(exact), strict=True):
        if numpy.isnan(e):
            assert numpy.isnan(g), (g, e)
            continue
        if g == e:
            continue
        rounded = float(numpy.array(e).astype(given.dtype)) if dtype != "bfloat16" else float(e)
        if numpy.isinf(g) or numpy.isinf(rounded):
            assert g == rounded, (g, e)
            continue
        error = abs(float(g) - float(e)) / tolerances.unit(dtype, float(e))
        assert error <= tolerances.ulps(dtype), (g, e, error)


def bits(x) -> bytes:
    """The elements' bytes in logical order."""
    from flambeau.core import _core

    return _core.raw_bytes(x.detach().contiguous())
