"""Derivatives of the core's operators, in sections; importing them fills the table.

Most pointwise operators are not here: their derivatives follow from their formulas.
"""
from flambeau.autograd.rules import (
    arithmetic,
    attention,
    distances,
    fourier,
    indexing,
    linalg,
    matrix,
    movement,
    network,
    normalization,
    places,
    recurrent,
    reductions,
    resampling,
    sampling,
    special,
    statistics,
    views,
    without,
)

__all__ = ["arithmetic", "attention", "distances", "fourier", "indexing", "linalg", "matrix",
           "movement", "network", "normalization", "places", "recurrent", "reductions",
           "resampling", "sampling", "special", "statistics", "views", "without"]
