"""Mathematical functions written in the formula language itself; importing registers them."""

from . import (
    activation,
    complex,
    division,
    error,
    exponential,
    gamma,
    hyperbolic,
    inverse,
    logarithm,
    power,
    simple,
    trigonometric,
)

__all__ = [
    "activation",
    "complex",
    "division",
    "error",
    "exponential",
    "gamma",
    "hyperbolic",
    "inverse",
    "logarithm",
    "power",
    "simple",
    "trigonometric",
]
