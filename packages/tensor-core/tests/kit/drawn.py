"""Strategies of Hypothesis: shapes, dtypes, layouts and indices, as NumPy arrays and tensors.

A drawn pair is one array and one tensor of the same values; the tensor lies in memory in one of
several ways.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

import flambeau

FLOATS = ("float32", "float64")
INTS = ("uint8", "int8", "int16", "int32", "int64")
ALL = ("bool", *INTS, *FLOATS, "complex64", "complex128")
LAYOUTS = ("plain", "transposed", "stepped", "offset", "flipped", "expanded")


def shapes(least: int = 0, most: int = 4, size: int = 4):
    """Shapes, with sizes of zero and one among them."""
    return st.lists(st.integers(0, size), min_size=least, max_size=most).map(tuple)


def _values(draw, shape: tuple, dtype: str) -> np.ndarray:
    """Small integers in every dtype, so that sums and products are exact."""
    seed = draw(st.integers(0, 2 ** 16))
    numbers = np.random.default_rng(seed).integers(-4, 5, shape)
    numbers = np.asarray(numbers)
    if dtype == "bool":
        return numbers > 0
    if dtype.startswith("u"):
        return np.abs(numbers).astype(dtype)
    if dtype.startswith("c"):
        return np.asarray(numbers + 1j * np.flip(numbers)).astype(dtype)
    return numbers.astype(dtype)


def laid(array: np.ndarray, layout: str):
    """A tensor of these values whose memory lies in the given way."""
    t = flambeau.tensor(np.array(array, order="C"))
    if layout == "transposed" and array.ndim > 1:
        return t.transpose(0, -1).contiguous().transpose(0, -1)
    if layout == "stepped" and array.ndim:
        return flambeau.stack([t, t], -1).flatten(-2)[..., ::2]
    if layout == "offset":
        room = flambeau.zeros(t.numel() + 3, dtype=t.dtype)
        room[3:] = t.flatten()
        return room[3:].view(t.shape)
    if layout == "flipped" and array.ndim:
        return flambeau.tensor(np.array(np.flip(array, 0), order="C")).flip(0)
    return t


@st.composite
def pairs(draw, shape=None, dtypes=ALL, layouts=LAYOUTS):
    """An array and a tensor of the same values."""
    shape = draw(shapes()) if shape is None else shape
    dtype, layout = draw(st.sampled_from(dtypes)), draw(st.sampled_from(layouts))
    if layout == "expanded" and shape:
        small = _values(draw, (1, *shape[1:]), dtype)
        return np.broadcast_to(small, shape), flambeau.tensor(small).expand(shape)
    array = _values(draw, shape, dtype)
    return array, laid(array, layout)


@st.composite
def broadcast_shapes(draw, count: int):
    """Shapes that broadcast with each other."""
    full = draw(shapes(most=3))
    made = []
    for _ in range(count):
        kept = full[draw(st.integers(0, len(full))):]
        made.append(tuple(1 if draw(st.integers(0, 3)) == 0 else size for size in kept))
    return made


@st.composite
def reshapes(draw, count: int):
    """A shape of so many elements, one size perhaps left open."""
    shape, rest = [], count
    while rest > 1 and len(shape) < 4:
        divisor = draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0]))
        shape.append(divisor)
        rest //= divisor
    shape.append(rest)
    if count and draw(st.booleans()):
        shape[draw(st.integers(0, len(shape) - 1))] = -1
    return tuple(shape)


# ---- indices -----------------------------------------------------------------------------------
def _whole(draw, size: int) -> int:
    return draw(st.integers(-size - 1, size)) if draw(st.integers(0, 9)) == 0 or not size \
        else draw(st.integers(-size, size - 1))


def _slice(draw) -> slice:
    ends = st.none() | st.integers(-6, 6)
    return slice(draw(ends), draw(ends), draw(st.none() | st.integers(1, 3)))


def _array(draw, size: int) -> np.ndarray:
    shape = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 1), (0,)]))
    numbers = [_whole(draw, size) for _ in range(math.prod(shape))]
    return np.array(numbers, draw(st.sampled_from(["int64", "int32", "int16"]))).reshape(shape)


def _mask(draw, shape: tuple) -> np.ndarray:
    return np.random.default_rng(draw(st.integers(0, 255))).integers(0, 2, shape).astype(bool)


@st.composite
def indices(draw, shape: tuple):
    """A tuple of integers, slices, None, an ellipsis, arrays and masks; some do not fit."""
    parts, at, dotted = [], 0, False
    for _ in range(draw(st.integers(0, len(shape) + 2))):
        size = shape[at] if at < len(shape) else 3
        kind = draw(st.sampled_from(["whole", "slice", "slice", "none", "dots", "array", "mask"]))
        if kind == "none":
            parts.append(None)
            continue
        if kind == "dots" and not dotted:
            dotted = True
            parts.append(Ellipsis)
            at = max(at, len(shape) - draw(st.integers(0, 2)))
            continue
        wide = draw(st.integers(1, 2)) if kind == "mask" else 1
        parts.append(_whole(draw, size) if kind == "whole" else _slice(draw) if kind != "array"
                     and kind != "mask" else _array(draw, size) if kind == "array"
                     else _mask(draw, shape[at:at + wide] or (2,)))
        at += wide
    return tuple(parts)
