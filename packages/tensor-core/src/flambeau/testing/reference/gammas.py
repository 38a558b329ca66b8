"""Derivatives of gamma and beta samples by their parameters, from power series on NumPy arrays.

A sample x of the distribution function F(x; a) moves with a so that F stays what it is: dx/da is
-(dF/da) / (dF/dx) (Figurnov et al. 2018, https://arxiv.org/abs/1805.08498).
"""
from __future__ import annotations

import numpy as np

from flambeau.testing.reference.kernels import kernel

_SHIFT = 12         # steps up to where six terms of digamma's asymptotic series are enough
_MAX_TERMS = 20000


def _digamma(a):
    b = a + _SHIFT
    s = 1 / (b * b)
    tail = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132)))))
    return np.log(b) - 0.5 / b - tail - sum(1 / (a + k) for k in range(_SHIFT))


@kernel("standard_gamma_grad")
def standard_gamma_grad(a, x):
    """The sum over n of ``r_n (digamma(a + n + 1) - log x)``, ``r_n = x^(n+1) / (a)_(n+1)``."""
    a, x = np.asarray(a, np.float64), np.asarray(x, np.float64)
    r, psi = x / a, _digamma(a + 1)
    total = np.zeros(np.shape(r))
    for n in range(1, _MAX_TERMS):
        total = total + r * (psi - np.log(x))
        psi, r = psi + 1 / (a + n), r * x / (a + n)
        if not np.any(r > 1e-18 * np.abs(total)):
            break
    return total


def _beta_series(x, a, both, weight):
    """The sum of ``c_n = x^n (both)_n / (a+1)_n``, and its derivative by ``both`` plus ``weight``
    times that by ``a``: ``I_x(a, both - a)`` is the sum times ``x^a (1-x)^b / (a B(a, b))``."""
    c = np.ones(np.broadcast(x, a, both).shape)
    growth = total = slope = np.zeros(c.shape)
    for n in range(1, _MAX_TERMS):
        total, slope = total + c, slope + c * growth
        growth = growth + 1 / (both + n - 1) - weight / (a + n)
        c = c * x * (both + n - 1) / (a + n)
        if not np.any(c > 1e-18 * total):
            break
    return total, slope


@kernel("dirichlet_grad")
def dirichlet_grad(x, a, both):
    """Above the mean by ``I_x(a, b) = 1 - I_(1-x)(b, a)``, whose terms do not cancel there."""
    x, a, both = (np.asarray(each, np.float64) for each in (x, a, both))
    below = x * both < a
    total, slope = _beta_series(np.where(below, x, 0), a, both, 1)
    left = -x / a * (total * (np.log(x) + _digamma(both) - _digamma(a + 1)) + slope)
    b = both - a
    total, slope = _beta_series(np.where(below, 0, 1 - x), b, both, 0)
    return np.where(below, left,
                    x / b * (total * (np.log(x) + _digamma(both) - _digamma(a)) + slope))
