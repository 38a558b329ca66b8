"""Mathematical functions written in the formula language itself; importing registers them."""

from ..registry import arities
from . import (
    activation,
    bessel,
    complex,
    complex_exponential,
    complex_inverse,
    division,
    error,
    exponential,
    gamma,
    hyperbolic,
    inverse,
    logarithm,
    normal,
    numbers,
    power,
    simple,
    trigonometric,
    unsigned,
)

#: Number of arguments of every function here.
ARITIES = arities()

__all__ = [
    "ARITIES",
    "activation",
    "bessel",
    "complex",
    "complex_exponential",
    "complex_inverse",
    "division",
    "error",
    "exponential",
    "gamma",
    "hyperbolic",
    "inverse",
    "logarithm",
    "normal",
    "numbers",
    "power",
    "simple",
    "trigonometric",
    "unsigned",
]
