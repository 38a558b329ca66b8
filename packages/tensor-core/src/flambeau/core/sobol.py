"""Direction numbers of Sobol' sequences, as S. Joe and F. Y. Kuo chose them in 2008.

``direction_numbers.bin`` holds them for 21201 dimensions ("new-joe-kuo-6.21201", which its authors
give under a BSD licence): first a byte for each polynomial, half the distance to the one before,
then the bits of the initial numbers that are free, since number i is odd and below 2**i.
``tools/direction_numbers.py`` writes the file.
"""
from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import numpy

DIMENSIONS = 21201
BITS = 30


def direction_numbers(dimension: int) -> Any:
    """Direction numbers as fractions of 2**30.

    Args:
        dimension: Of how many dimensions, 21201 at most.

    Returns:
        An int64 array of shape (dimension, 30); column j is what bit j of a point's number adds.

    Example:
        >>> from flambeau.core.sobol import direction_numbers
        >>> (direction_numbers(2) >> 27)[:, :3].tolist()
        [[4, 2, 1], [4, 6, 5]]
    """
    polynomials, free = _table()
    numbers = numpy.ones((dimension, BITS), numpy.int64)     # the first dimension has ones alone
    degrees = numpy.frexp(polynomials)[1] - 1
    ends = numpy.cumsum(degrees * (degrees - 1) // 2)
    for degree in range(1, int(degrees[: dimension - 1].max(initial=0)) + 1):
        rows = numpy.flatnonzero(degrees[: dimension - 1] == degree)
        width = degree * (degree - 1) // 2
        bits = free[(ends[rows] - width)[:, None] + numpy.arange(width)]
        numbers[rows + 1] = _continued(polynomials[rows], _initial(bits, degree), degree)
    return numbers << numpy.arange(BITS - 1, -1, -1)


@cache
def _table() -> tuple[Any, Any]:
    """The polynomials of all dimensions but the first, and the free bits of their numbers."""
    raw = numpy.frombuffer((files(__package__) / "direction_numbers.bin").read_bytes(), numpy.uint8)
    distances = raw[: DIMENSIONS - 1].astype(numpy.int64)
    return 1 + 2 * numpy.cumsum(distances), numpy.unpackbits(raw[DIMENSIONS - 1 :])


def _initial(bits: Any, degree: int) -> list[Any]:
    """The numbers that are free: an array for each of 1 to degree."""
    numbers, start = [], 0
    for count in range(degree):
        value = numpy.ones(len(bits), numpy.int64)
        for index in range(count):
            value += bits[:, start + index].astype(numpy.int64) << (count - index)
        numbers.append(value)
        start += count
    return numbers


def _continued(polynomials: Any, numbers: list[Any], degree: int) -> Any:
    """All numbers of these dimensions: each follows from as many before it as the degree says."""
    for _ in range(degree, BITS):
        value = numbers[-degree] ^ (numbers[-degree] << degree)
        for back in range(1, degree):
            holds = polynomials >> (degree - back) & 1
            value = value ^ (holds * numbers[-back] << back)
        numbers.append(value)
    return numpy.stack(numbers[:BITS], 1)
