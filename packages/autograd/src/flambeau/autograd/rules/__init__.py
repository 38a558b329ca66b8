"""Derivatives of the core's operators, by operator family; importing them fills the table.

Most pointwise operators are not here: their derivatives follow from their formulas.
"""
from flambeau.autograd.rules import (
    attention,
    conv,
    creation,
    fft,
    index,
    linalg,
    loss,
    matmul,
    norm,
    pointwise,
    pool,
    random,
    recurrent,
    reduce,
    resample,
    shape,
    special,
    statistics,
)

__all__ = ["attention", "conv", "creation", "fft", "index", "linalg", "loss", "matmul", "norm",
           "pointwise", "pool", "random", "recurrent", "reduce", "resample", "shape", "special",
           "statistics"]
