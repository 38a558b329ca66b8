"""What rows of special functions and activations compute, in NumPy's float64 (see references.py).

Series, reflections and integrals straight from the definitions, slower and plainer than the
formulas under test.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

_INF, _NAN = math.inf, math.nan
_NORMAL = NormalDist()


def _each(function):
    """A function of one float over arrays."""
    return np.vectorize(function, otypes=[float])


def _lgamma(x):
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return _INF
    return math.lgamma(x)


def _digamma(x):
    if math.isnan(x) or x == -_INF or (x < 0 and x == math.floor(x)):
        return _NAN
    if x == 0:
        return math.copysign(_INF, -x)
    if x == _INF:
        return _INF
    if x < 0:
        return _digamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    shift = 0.0
    while x < 30:
        shift += 1 / x
        x += 1
    z = 1 / (x * x)
    return math.log(x) - 0.5 / x - z * (1 / 12 - z * (1 / 120 - z / 252)) - shift


def _trigamma(x):
    if math.isnan(x) or x == -_INF:
        return _NAN
    if x <= 0 and x == math.floor(x):
        return _INF
    if x < 0:
        return (math.pi / math.sin(math.pi * (x - round(x)))) ** 2 - _trigamma(1 - x)
    total = 0.0
    while x < 30:
        total += 1 / (x * x)
        x += 1
    z = 1 / (x * x)
    return total + 1 / x + z / 2 + z / x * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z / 30)))


def _bessel(order, scaled):
    """The mean of exp(x cos t) cos(order t) over a turn: the trapezoid rule is exact here."""
    turn = 2 * math.pi * np.arange(512) / 512

    def one(x):
        if math.isnan(x):
            return x
        if math.isinf(x):
            size = 0.0 if scaled else _INF
            return math.copysign(size, x) if order else size
        if order and abs(x) < 1e-8:
            return x / 2
        value = np.mean(np.exp(abs(x) * (np.cos(turn) - 1)) * np.cos(order * turn))
        value = value * (1 if scaled else np.exp(abs(x)))
        return -value if order and x < 0 else value

    return _each(one)


def _erfcx(x):
    if x < 25:
        return math.exp(x * x) * math.erfc(x) if x > -26.6 else _INF
    z = 1 / (2 * x * x)
    return (1 - z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z)))) / (x * math.sqrt(math.pi))


def _ndtr(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _log_ndtr(x):
    if x > 0:
        return math.log1p(-_ndtr(-x))
    if x == -_INF:
        return x
    return math.log(0.5 * _erfcx(-x / math.sqrt(2))) - 0.5 * x * x


def _ndtri(p):
    if 0 < p < 1:
        return _NORMAL.inv_cdf(p)
    return {0.0: -_INF, 1.0: _INF}.get(p, _NAN)


def _erfinv(x):
    if 0 < abs(x) < 1e-8:
        return x * math.sqrt(math.pi) / 2
    return _ndtri(0.5 * (1 + x)) / math.sqrt(2) if abs(x) <= 1 else _NAN


def _xlog(log):
    return lambda x, y: np.where((x == 0) & ~np.isnan(y), 0.0, x * log(y))


def _logaddexp(function):
    def both(x, y):
        return np.where((x == y) & np.isinf(x), x, function(x, y))

    return both


def _sinc(x):
    turns = np.where(np.isfinite(x), x - 2 * np.rint(x / 2), np.nan)
    return np.where(x == 0, 1.0, np.where(turns == np.rint(turns), 0.0,
                                          np.sin(np.pi * turns) / (np.pi * x)))


def _mish(x):
    return x * np.tanh(np.logaddexp(0, x))


FLOAT = {
    "lgamma": _each(_lgamma), "digamma": _each(_digamma), "trigamma": _each(_trigamma),
    "i0": _bessel(0, False), "i0e": _bessel(0, True), "i1": _bessel(1, False),
    "i1e": _bessel(1, True), "erfcx": _each(_erfcx), "ndtr": _each(_ndtr),
    "log_ndtr": _each(_log_ndtr), "ndtri": _each(_ndtri), "erfinv": _each(_erfinv),
    "entr": lambda x: np.where(x < 0, -np.inf, np.where(x == 0, 0.0, -x * np.log(x))),
    "xlogy": _xlog(np.log), "xlog1py": _xlog(np.log1p),
    "logaddexp": _logaddexp(np.logaddexp), "logaddexp2": _logaddexp(np.logaddexp2),
    "logit_of": lambda x: np.where((x >= 0) & (x <= 1), np.log(x) - np.log1p(-x), np.nan),
    "sinc": _sinc, "sgn": lambda x: np.where(np.isnan(x), 0, np.sign(x)),
    "angle_of": lambda x: np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0.0)),
    "replace_nonfinite": lambda x: np.where(np.isfinite(x), x, 0.0),
    "round_by": lambda x: np.rint(x * 100) / 100,
    # ---- activations
    "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hardshrink": lambda x: np.where(np.abs(x) <= 0.5, 0.0, x),
    "softshrink_by": lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0),
    "threshold_at": lambda x: np.where(x <= 0, 0.0, x),
    "softsign_of": lambda x: x / (np.abs(x) + 1), "tanhshrink": lambda x: x - np.tanh(x),
    "elu_scaled": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "mish": _mish, "prelu_rows": lambda x, w: np.where(x > 0, x, w * x),
}

#: Near their zeros, or by the reference's own error, these differ by more than units in the last
#: index; formula/test_accuracy.py holds their accuracy.
ROUGH = {"lgamma", "digamma", "trigamma", "i0", "i0e", "i1", "i1e", "erfcx", "ndtr", "log_ndtr",
         "ndtri", "erfinv", "xlogy", "xlog1py", "logaddexp", "logaddexp2", "logit_of", "sinc",
         "entr", "hardsigmoid", "hardswish", "mish"}


def _shift(function):
    """Shifts count in the width of the dtype; counts out of range leave 0, or the sign."""
    def both(a, b):
        wide, count = a.astype("int64"), np.clip(b, 0, 63).astype("int64")
        out = (b < 0) | (b > 63)
        ends = np.where(wide < 0, -1, 0) if function is np.right_shift else 0
        return np.where(out, ends, function(wide, count)).astype(a.dtype)

    return both


INT = {
    "sgn": np.sign, "bitwise_left_shift": _shift(np.left_shift),
    "bitwise_right_shift": _shift(np.right_shift),
    "threshold_at": lambda x: np.where(x <= 0, 0, x),
    "hardtanh_between": lambda x: np.clip(x.astype("int64"), -1, 1).astype(x.dtype),
}

def _logaddexp_complex(x, y):
    """The imaginary part goes on beyond pi, as that of the larger number does."""
    large, small = np.where(x.real >= y.real, x, y), np.where(x.real >= y.real, y, x)
    return large + np.log(1 + np.exp(small - large))


COMPLEX = {
    "sgn": lambda x: x / np.abs(x), "sinc": lambda x: np.sin(np.pi * x) / (np.pi * x),
    "logaddexp": _logaddexp_complex,
}
