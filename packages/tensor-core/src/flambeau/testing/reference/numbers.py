"""Divisors, exponents and the gamma family on NumPy arrays."""
from __future__ import annotations

import math

import numpy as np

from flambeau.testing.reference.kernels import kernel


@kernel("frexp")
def frexp(x):
    mantissa, exponent = np.frexp(x)
    return mantissa, np.where(np.isfinite(x), exponent, 0).astype("int32")


@kernel("gcd")
def gcd(a, b):
    return np.gcd(a, b)


@kernel("lcm")
def lcm(a, b):
    return np.lcm(a, b)


@kernel("zeta")
def zeta(s, q):
    """A long sum, and the integral of what is left with half of the last term."""
    s, q = np.asarray(s, "float64")[..., None], np.asarray(q, "float64")[..., None]
    with np.errstate(all="ignore"):
        end = q + 20000
        terms = (q + np.arange(20000)) ** -s
        return terms.sum(-1) + (end ** -s * (end / (s - 1) + 0.5))[..., 0]


@kernel("igamma")
def igamma(a, x):
    """The power series, with as many terms as moderate arguments need."""
    a, x = np.broadcast_arrays(np.asarray(a, "float64"), np.asarray(x, "float64"))
    term = np.exp(a * np.log(x) - x - np.vectorize(math.lgamma)(a + 1))
    total = term.copy()
    for k in range(1, 400):
        term = term * x / (a + k)
        total += term
    return total


@kernel("igammac")
def igammac(a, x):
    return 1 - igamma(a, x)
