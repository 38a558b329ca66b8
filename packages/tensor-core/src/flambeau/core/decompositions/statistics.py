"""Histograms."""
from __future__ import annotations

from flambeau.core import ops
from flambeau.core.decompositions.shared import filled
from flambeau.core.dtypes import dtypes


def bincount_of(x, weights, size):
    if weights is None:
        weights = filled((), 1, x).to(dtypes["int64"]).expand(x.shape)
    elif not weights.dtype.is_floating_point:
        weights = weights.to(dtypes["float64"])
    return ops.scatter_add(filled((size,), 0, weights), 0, x.to(dtypes["int64"]), weights)
