"""Types of results with names: ``x.max(0)`` is a ``flambeau.return_types.max``.

They are tuples. A type takes a sequence of its fields: ``return_types.max((values, indices))``.
"""
from __future__ import annotations

from flambeau.core.composites.statistics.histograms import Histogramdd as _Histogramdd
from flambeau.core.ops import OUTPUT_TYPES as _OUTPUT_TYPES

_TYPES = {**_OUTPUT_TYPES, "histogramdd": _Histogramdd}
globals().update(_TYPES)
globals().update({f"{name}_out": kind for name, kind in _TYPES.items()})    # calls with out=
__all__ = list(_TYPES)
