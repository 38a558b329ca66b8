"""Operators that write elements by number."""

from __future__ import annotations

import flambeau as fl
from flambeau.onnx.importing.operators.indexing import split_index, wrapped
from flambeau.onnx.importing.table import Call, computes

_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@computes("ScatterElements", "Scatter")
def scatter_elements(call: Call, x: fl.Tensor, index: fl.Tensor, values: fl.Tensor) -> fl.Tensor:
    """Elements written along a dimension."""
    axis = call.get("axis", 0)
    index = wrapped(index, x.shape[axis])
    reduction = call.get("reduction", "none")
    if reduction == "none":
        return fl.scatter(x, axis, index, values)
    return fl.scatter_reduce(x, axis, index, values, _REDUCTIONS[reduction])


@computes("ScatterND")
def scatter_nd(call: Call, x: fl.Tensor, index: fl.Tensor, values: fl.Tensor) -> fl.Tensor:
    """Slices written by vectors of numbers."""
    reduction = call.get("reduction", "none")
    parts = split_index(index, x.shape)
    if reduction == "none":
        return fl.index_put(x, parts, values)
    rows = fl.zeros_like(parts[0])
    inner = x.shape[len(parts):]
    count = 1
    for part, n in zip(parts, x.shape, strict=False):
        rows = rows * n + part
        count *= n
    flat = x.reshape(count, *inner)
    return flat.index_reduce(0, rows.reshape(-1), values.reshape(-1, *inner), _NAMES[reduction]
                             ).reshape(x.shape) if reduction != "add" else flat.index_add(
        0, rows.reshape(-1), values.reshape(-1, *inner)).reshape(x.shape)


_NAMES = {"mul": "prod", "max": "amax", "min": "amin"}


@computes("TensorScatter")
def tensor_scatter(call: Call, cache: fl.Tensor, update: fl.Tensor,
                   starts: fl.Tensor | None = None) -> fl.Tensor:
    """New rows written into a cache, each sequence's from its own place on."""
    axis = call.get("axis", -2) % cache.ndim
    n, length = cache.shape[axis], update.shape[axis]
    first = fl.zeros(cache.shape[0], dtype=fl.int64) if starts is None else starts.to(fl.int64)
    index = first.reshape(-1, 1) + fl.arange(length, device=cache.device)
    if call.get("mode", "linear") == "circular":
        index = fl.remainder(index, n)
    shape = [1] * cache.ndim
    shape[0], shape[axis] = cache.shape[0], length
    return fl.scatter(cache, axis, index.reshape(shape).expand(update.shape), update)
