"""Histograms."""
from __future__ import annotations

import math

from flambeau.core import _core, ops
from flambeau.core.decompositions.shared import filled, wide
from flambeau.core.dtypes import dtypes


def bincount_of(x, weights, size):
    if weights is None:
        weights = filled((), 1, x).to(dtypes["int64"]).expand(x.shape)
    elif not weights.dtype.is_floating_point:
        weights = weights.to(dtypes["float64"])
    return ops.scatter_add(filled((size,), 0, weights), 0, x.to(dtypes["int64"]), weights)


def histc(x, bins, low, high):
    values = wide(x).reshape(-1)
    low, high = _core.tensor([low, high], dtype=values.dtype, device="cpu").tolist()
    if low == high and values.numel():
        low, high = ops.cat([end.reshape(1) for end in (values.amin(), values.amax())]).tolist()
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"histc(): the range of [{low:g}, {high:g}] is not finite; give "
                               "min= and max=")
    if low == high:
        low, high = low - 1, high + 1
    first = filled((), low, values)
    inside = (values >= low) & (values <= high)
    scaled = (values - first) * bins / (filled((), high, values) - first)
    at = ops.where(inside, scaled, filled((), 0, values)).to(dtypes["int64"]).clamp(max=bins - 1)
    return ops.scatter_add(filled((bins,), 0, values), 0, at, inside.to(values.dtype))


def histogram_of(points, edges, weight):
    """The last bin of each dimension holds its right edge too; what is outside counts nothing."""
    sizes, rows = [edge.numel() - 1 for edge in edges], points.shape[:1]
    flat = ops.full_of(rows, 0, dtype=dtypes["int64"], device=points.device)
    inside = ops.full_of(rows, True, dtype=dtypes["bool"], device=points.device)
    for d, size in enumerate(sizes):
        column, edge = points.select(1, d).contiguous(), edges[d].to(points.dtype)
        inside = inside & (column >= edge[0]) & (column <= edge[size])
        at = (ops.searchsorted(edge, column, right=True) - 1).clamp(max=size - 1)
        flat = flat * size + at
    total = filled((math.prod(sizes),), 0, points)
    if not total.numel():
        return total.reshape(sizes)
    counts = inside.to(points.dtype)
    if weight is not None:
        counts = ops.where(inside, weight.to(points.dtype), filled((), 0, points))
    flat = ops.where(inside, flat, filled((), 0, flat))
    return ops.scatter_add(total, 0, flat, counts).reshape(sizes)
