"""Bessel functions of moderate numbers, polynomials, and distances of pairs on NumPy arrays."""
from __future__ import annotations

import math

import numpy as np

from flambeau.testing.reference.kernels import kernel

_TERMS = 40


def _first(x, order):
    """The power series of the first kind."""
    return sum((-1) ** k * (x / 2) ** (2 * k + order)
               / (math.factorial(k) * math.factorial(k + order)) for k in range(_TERMS))


def _digamma(n):
    """Of a positive integer."""
    return -np.euler_gamma + sum(1 / k for k in range(1, n))


def _second(x, order):
    """The series of the second kind, order 0 or 1 (Handbook of Mathematical Functions, 9.1.11)."""
    with np.errstate(all="ignore"):
        total = 2 * np.log(x / 2) * _first(x, order) - (2 / x if order else 0)
        for k in range(_TERMS):
            total = total - ((_digamma(k + 1) + _digamma(k + order + 1)) * (-1) ** k
                             * (x / 2) ** (2 * k + order)
                             / (math.factorial(k) * math.factorial(k + order)))
        return np.where(x == 0, -np.inf, total / np.pi)


def _modified(x, order):
    """The integral of ``exp(-x cosh t) cosh(order t)`` by the trapezoidal rule."""
    t, step = np.linspace(0, 20, 2001, retstep=True)
    with np.errstate(all="ignore"):
        values = np.exp(-x[..., None] * np.cosh(t)) * np.cosh(order * t)
        total = step * (values.sum(-1) - values[..., 0] / 2)
    return np.where(x > 0, total, np.where(x == 0, np.inf, np.nan))


def _wide(x):
    return np.asarray(x, "float64")


for _order in (0, 1):
    kernel(f"bessel_j{_order}")(lambda x, n=_order: _first(_wide(x), n))
    kernel(f"bessel_y{_order}")(lambda x, n=_order: _second(_wide(x), n))
    kernel(f"modified_bessel_k{_order}")(lambda x, n=_order: _modified(_wide(x), n))
    kernel(f"scaled_modified_bessel_k{_order}")(
        lambda x, n=_order: np.exp(_wide(x)) * _modified(_wide(x), n))


@kernel("spherical_bessel_j0")
def spherical_bessel_j0(x):
    return np.sinc(_wide(x) / np.pi)


@kernel("airy_ai")
def airy_ai(x):
    """The two power series at 0."""
    x = _wide(x)
    total = 0
    first, second = np.full_like(x, 0.355028053887817239), x * 0.258819403792806798
    for k in range(_TERMS):
        total = total + first - second
        first = first * x ** 3 / ((3 * k + 2) * (3 * k + 3))
        second = second * x ** 3 / ((3 * k + 3) * (3 * k + 4))
    return total


def _polynomial(first, step):
    """p(0) = 1, p(1) = first(x), p(k + 1) = step(k, x, p(k), p(k - 1)), for a few degrees."""
    def run(x, n):
        x, n = np.broadcast_arrays(_wide(x), _wide(n))
        values = [np.ones_like(x), first(x)]
        for k in range(1, 12):
            values.append(step(k, x, values[k], values[k - 1]))
        return np.select([n == k for k in range(len(values))], values)

    return run


_KINDS = {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1,
          "w": lambda x: 2 * x + 1}
for _kind, _first_of in _KINDS.items():
    _run = _polynomial(_first_of, lambda k, x, p, b: 2 * x * p - b)
    kernel(f"chebyshev_polynomial_{_kind}")(_run)
    kernel(f"shifted_chebyshev_polynomial_{_kind}")(
        lambda x, n, run=_run: run(2 * _wide(x) - 1, n))
kernel("hermite_polynomial_h")(_polynomial(
    lambda x: 2 * x, lambda k, x, p, b: 2 * x * p - 2 * k * b))
kernel("hermite_polynomial_he")(_polynomial(lambda x: x, lambda k, x, p, b: x * p - k * b))
kernel("laguerre_polynomial_l")(_polynomial(
    lambda x: 1 - x, lambda k, x, p, b: ((2 * k + 1 - x) * p - k * b) / (k + 1)))
kernel("legendre_polynomial_p")(_polynomial(
    lambda x: x, lambda k, x, p, b: ((2 * k + 1) * x * p - k * b) / (k + 1)))


@kernel("pdist_euclidean")
def pdist_euclidean(x):
    first, second = np.triu_indices(len(x), 1)
    return np.sqrt(((x[first] - x[second]) ** 2).sum(1))


@kernel("cdist_of")
def cdist_of(x1, x2, p):
    gaps = np.abs(x1[:, :, None] - x2[:, None])
    if p == 1:
        return gaps.sum(-1)
    return np.sqrt((gaps ** 2).sum(-1)) if p == 2 else gaps.max(-1, initial=0)
