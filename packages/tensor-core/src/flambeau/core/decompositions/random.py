"""Dropout."""
from __future__ import annotations

from flambeau.core import ops
from flambeau.core.dtypes import dtypes


def native_dropout(x, p, scale, generator):
    kept = ops.full_of(x.shape, 0, dtype=dtypes["bool"], device=x.device)
    kept = ops.random_bernoulli(kept, 1.0 - p, generator=generator)
    return ops.masked_scale(x, kept, scale), kept
