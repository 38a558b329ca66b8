"""Operators that look at memory in another way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.jit.ahead.unit import Place
from flambeau.jit.llvm.grid import contiguous_strides


def _reshaped(place: Place, shape: Sequence[int]) -> Place | None:
    """Another shape of the same memory; ``None`` where dimensions that lie apart would be one."""
    if place.is_dense():
        return place.view(shape, contiguous_strides(shape))
    strides: list[int] = []
    old = [(n, s) for n, s in zip(place.shape, place.strides, strict=True) if n != 1]
    runs: list[list[int]] = []         # sizes and strides of neighbours that lie as one
    for n, s in old:
        if runs and runs[-1][1] == n * s:
            runs[-1] = [runs[-1][0] * n, s]
        else:
            runs.append([n, s])
    for size in reversed(shape):
        if size == 1:
            strides.append(0)
            continue
        if not runs or runs[-1][0] % size:
            return None
        strides.append(runs[-1][1])
        runs[-1] = [runs[-1][0] // size, runs[-1][1] * size]
        if runs[-1][0] == 1:
            runs.pop()
    return place.view(shape, tuple(reversed(strides)))


def _transpose(place: Place, a: int, b: int) -> Place:
    order = list(range(len(place.shape)))
    order[a], order[b] = order[b], order[a]
    return permuted(place, order)


def permuted(place: Place, order: Sequence[int]) -> Place:
    """Dimensions in another order."""
    return place.view([place.shape[d] for d in order], [place.strides[d] for d in order])


def _narrow(place: Place, dim: int, start: int, length: int) -> Place:
    shape = list(place.shape)
    start += shape[dim] if start < 0 else 0
    shape[dim] = length
    return place.view(shape, place.strides, start * place.strides[dim])


def _select(place: Place, dim: int, index: int) -> Place:
    dim %= len(place.shape)
    index += place.shape[dim] if index < 0 else 0
    keep = [d for d in range(len(place.shape)) if d != dim]
    return place.view([place.shape[d] for d in keep], [place.strides[d] for d in keep],
                      index * place.strides[dim])


def expanded_to(place: Place, shape: Sequence[int]) -> Place:
    """The same memory for each index of more dimensions."""
    pad = len(shape) - len(place.shape)
    strides = [0] * pad + [s if n != 1 else 0
                           for n, s in zip(place.shape, place.strides, strict=True)]
    return place.view(shape, strides)


def _slice(place: Place, shape: tuple[int, ...], dim: int, start: int | None, step: int) -> Place:
    dim, start = dim % len(shape), start or 0
    start += place.shape[dim] if start < 0 else 0
    strides = list(place.strides)
    strides[dim] *= step
    return place.view(shape, strides, min(start, place.shape[dim]) * place.strides[dim])


#: By operator: the place of the result for that of the operand, its shape and the node's arguments.
VIEWS: dict[str, Callable[[Place, tuple[int, ...], tuple[Any, ...]], Place | None]] = {
    "view": lambda place, shape, args: _reshaped(place, shape),
    "unsqueeze": lambda place, shape, args: _reshaped(place, shape),
    "squeeze": lambda place, shape, args: _reshaped(place, shape),
    "flatten": lambda place, shape, args: _reshaped(place, shape),
    "alias": lambda place, shape, args: place,
    "transpose": lambda place, shape, args: _transpose(place, *args[:2]),
    "t": lambda place, shape, args: permuted(place, list(range(len(shape)))[::-1]),
    "permute": lambda place, shape, args: permuted(place, args[0]),
    "narrow": lambda place, shape, args: _narrow(place, *args[:3]),
    "slice": lambda place, shape, args: _slice(place, shape, args[0], args[1], args[3]),
    "select": lambda place, shape, args: _select(place, *args[:2]),
    "expand": lambda place, shape, args: expanded_to(place, shape),
}
