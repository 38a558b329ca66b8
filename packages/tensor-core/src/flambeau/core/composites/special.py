"""Composite rows of special functions."""
import math

from flambeau.core import _core

_op = _core.operators()


def polygamma(n, x):
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got {n}")
    if n == 0:
        return _op["digamma"](x)
    if n == 1:
        return _op["trigamma"](x)
    size = math.exp(math.lgamma(n + 1.0)) if n > 20 else float(math.factorial(n))
    return _op["mul"](_op["zeta"](n + 1.0, x), size if n % 2 else -size)


def polygamma__tensor(x, n):
    return polygamma(n, x)


def mvlgamma(x, p):
    if p < 1:
        raise RuntimeError(f"mvlgamma(): p has to be greater than or equal to 1, got {p}")
    total = _op["lgamma"](x)
    for j in range(1, p):
        total = _op["add"](total, _op["lgamma"](_op["sub"](x, 0.5 * j)))
    return _op["add"](total, 0.25 * p * (p - 1) * math.log(math.pi))


def logit(x, eps):
    if eps is not None:
        x = _op["clamp"](x, eps, 1.0 - eps)
    return _op["logit_of"](x)
