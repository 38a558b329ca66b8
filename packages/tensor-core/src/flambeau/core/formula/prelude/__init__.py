"""Mathematical functions written in the formula language itself; importing registers them."""

from . import (
    activation,
    bessel,
    complex,
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
)

__all__ = [
    "activation",
    "bessel",
    "complex",
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
]
