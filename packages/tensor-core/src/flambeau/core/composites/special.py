"""Composite operators of special functions."""
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
    size = float(math.factorial(n)) if n <= 170 else math.inf
    return _op["mul"](_op["zeta"](n + 1.0, x), size if n % 2 else -size)


def polygamma__tensor(x, n):
    return polygamma(n, x)


def mvlgamma(x, p):
    if p < 1:
        raise RuntimeError(f"mvlgamma(): p has to be greater than or equal to 1, got {p}")
    steps = _op["mul"](_op["arange_of"](0, p, 1, dtype=_core._dtype_named("int64"),
                                         device=x.device), 0.5)
    parts = _op["lgamma"](_op["sub"](_op["unsqueeze"](x, -1), _op["cast"](steps, _floating(x))))
    return _op["add"](_op["sum"](parts, -1), 0.25 * p * (p - 1) * math.log(math.pi))


def _floating(x):
    return x.dtype if x.is_floating_point() else _core.get_default_dtype()


def logit(x, eps):
    if eps is not None:
        x = _op["clamp"](x, eps, 1.0 - eps)
    return _op["logit_of"](x)
