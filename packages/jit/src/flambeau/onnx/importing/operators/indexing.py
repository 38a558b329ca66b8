"""Operators that read elements by number."""

from __future__ import annotations

from typing import Any

import flambeau as fl
from flambeau.onnx.importing.table import Call, computes


def wrapped(index: fl.Tensor, n: Any) -> fl.Tensor:
    """Numbers from the end, which are negative, counted from the start."""
    index = index.to(fl.int64)
    return fl.where(index < 0, index + n, index)


@computes("Gather")
def gather(call: Call, x: fl.Tensor, index: fl.Tensor) -> fl.Tensor:
    """Slices along a dimension."""
    axis = call.get("axis", 0) % x.ndim
    flat = wrapped(index, x.shape[axis]).reshape(-1)
    found = x.index_select(axis, flat)
    return fl.reshape(found, [*x.shape[:axis], *index.shape, *x.shape[axis + 1:]])


@computes("GatherElements")
def gather_elements(call: Call, x: fl.Tensor, index: fl.Tensor) -> fl.Tensor:
    """Elements along a dimension."""
    axis = call.get("axis", 0)
    return fl.gather(x, axis, wrapped(index, x.shape[axis]))


def split_index(index: fl.Tensor, shape: Any, skip: int = 0) -> tuple[fl.Tensor, ...]:
    """The last dimension's numbers, one tensor for each dimension that they are of."""
    return tuple(wrapped(index[..., k], shape[skip + k]) for k in range(index.shape[-1]))


@computes("GatherND")
def gather_nd(call: Call, x: fl.Tensor, index: fl.Tensor) -> fl.Tensor:
    """Slices by vectors of numbers."""
    b = call.get("batch_dims", 0)
    parts = split_index(index, x.shape, b)
    if b == 0:
        return x[parts]
    flat = x.flatten(0, b - 1)
    rows = fl.arange(flat.shape[0], device=x.device)
    inner = tuple(each.flatten(0, b - 1) if each.ndim > b - 1 else each for each in parts)
    rows = rows.reshape(-1, *[1] * (inner[0].ndim - 1))
    found = flat[(rows, *inner)]
    return found.reshape(*x.shape[:b], *found.shape[1:])


@computes("TopK", host=(1,))
def topk(call: Call, x: fl.Tensor, k: Any = None) -> tuple[fl.Tensor, fl.Tensor]:
    """The greatest or least elements; of equal ones the first."""
    count = call.get("k") if k is None else k[0] if isinstance(k, list) else k
    axis = call.get("axis", -1)
    values, index = fl.sort(x, dim=axis, descending=bool(call.get("largest", 1)), stable=True)
    return values.narrow(axis, 0, count), index.narrow(axis, 0, count)


@computes("NonZero")
def nonzero(call: Call, x: fl.Tensor) -> fl.Tensor:
    """The numbers of all elements that are not 0."""
    return fl.nonzero(x).T if x.ndim else fl.zeros(0, int(x != 0), dtype=fl.int64)


@computes("Compress")
def compress(call: Call, x: fl.Tensor, condition: fl.Tensor) -> fl.Tensor:
    """Slices where a condition holds."""
    axis = call.get("axis")
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return x.index_select(axis, fl.nonzero(condition).reshape(-1))


@computes("OneHot", host=(1,))
def one_hot(call: Call, index: fl.Tensor, depth: Any, values: fl.Tensor) -> fl.Tensor:
    """A further dimension with one element of another value."""
    n = int(depth[0] if isinstance(depth, list) else depth)
    axis = call.get("axis", -1)
    axis = axis + index.ndim + 1 if axis < 0 else axis
    places = fl.arange(n, device=index.device).reshape(-1, *[1] * (index.ndim - axis))
    hot = wrapped(index, n).unsqueeze(axis) == places
    off, on = values.unbind(0)
    return fl.where(hot, on, off)


@computes("Unique")
def unique(call: Call, x: fl.Tensor) -> tuple[fl.Tensor, ...]:
    """Different elements or slices, with where each was first, and how often."""
    axis = call.get("axis")
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    found, inverse, counts = fl.unique(x, return_inverse=True, return_counts=True, dim=axis)
    n = found.shape[axis]
    first = fl.full((n,), x.shape[axis], dtype=fl.int64).scatter_reduce(
        0, inverse, fl.arange(x.shape[axis]), "amin")
    if not call.get("sorted", 1):
        order = fl.argsort(first)
        found, first, counts = found.index_select(axis, order), first[order], counts[order]
        inverse = fl.argsort(order)[inverse]
    return found, first, inverse, counts
