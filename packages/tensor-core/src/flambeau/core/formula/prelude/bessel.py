"""Modified Bessel functions of the first kind, of order 0 and 1.

To 8 the power series in (x / 2)**2, whose terms are all positive; beyond, sqrt(x) exp(-x) I(x) as
a polynomial in 16 / x - 1. Single precision is computed in double precision and rounded.
"""

from __future__ import annotations

import math

from ..expr import Expr, call
from ..registry import define
from .tools import INF, absolute, copysign, eq, horner, select, sqrt

_BORDER = 8.0
_TERMS = 27
_SERIES = (
    tuple(1.0 / math.factorial(k) ** 2 for k in range(_TERMS)),
    tuple(0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(_TERMS)),
)
_FAR0 = (
    0.4021765094450081,
    0.0033605519836678614,
    0.0001362160743919305,
    1.1143033790932038e-05,
    1.4838475658279249e-06,
    2.9735985885673923e-07,
    8.872219737904054e-08,
    3.932584334552952e-08,
    2.1548377974791598e-08,
    7.554691881248808e-09,
    -6.747657956107524e-09,
    -1.340891754008974e-08,
    -5.404771567579958e-09,
    7.552583062123384e-09,
    7.430464650325426e-09,
    -3.505966530879332e-09,
    -5.95356943826489e-09,
    1.5200816953924232e-09,
    3.6379546359011143e-09,
    -5.715843864202709e-10,
    -1.618980683624682e-09,
    1.5279202694981569e-10,
    4.577087631643623e-10,
    -2.0260604287413626e-11,
    -6.067631570603006e-11,
)
_FAR1 = (
    0.38939845902587233,
    -0.009749577193235737,
    -0.00021923576383388928,
    -1.5038547200567216e-05,
    -1.8349101326980946e-06,
    -3.483855761044295e-07,
    -1.0001288294864884e-07,
    -4.312917729178349e-08,
    -2.337392820814264e-08,
    -8.427766093735185e-09,
    6.734464815301592e-09,
    1.4034238782067183e-08,
    5.974437608040264e-09,
    -7.64239413436356e-09,
    -7.888351507862078e-09,
    3.4262341490077958e-09,
    6.242741219786445e-09,
    -1.4387250533041013e-09,
    -3.794670896208339e-09,
    5.295625441161261e-10,
    1.6848984479705146e-09,
    -1.4011625179770627e-10,
    -4.758818838703853e-10,
    1.8515118828852956e-11,
    6.305965197150057e-11,
)
_FAR = (_FAR0, _FAR1)


def _near(a: Expr, order: int) -> Expr:
    """I(a) for 0 <= a <= 8."""
    value = horner(0.25 * a * a, _SERIES[order])
    return a * value if order else value


def _far(a: Expr, order: int) -> Expr:
    """exp(-a) I(a) for a >= 8."""
    return horner(2.0 * _BORDER / a - 1.0, _FAR[order]) / sqrt(a)


def _plain(x: Expr, order: int) -> Expr:
    a = absolute(x)
    half = call("exp", 0.5 * a)  # exp(a) overflows before the result does
    value = select(a <= _BORDER, _near(a, order), half * _far(a, order) * half)
    value = select(eq(a, INF), INF, value)
    return value * copysign(1.0, x) if order else value


def _scaled(x: Expr, order: int) -> Expr:
    a = absolute(x)
    value = select(a <= _BORDER, call("exp", -a) * _near(a, order), _far(a, order))
    return value * copysign(1.0, x) if order else value


@define("i0", "f64")
def i0(x: Expr) -> Expr:
    """I0(x)."""
    return _plain(x, 0)


@define("i1", "f64")
def i1(x: Expr) -> Expr:
    """I1(x)."""
    return _plain(x, 1)


@define("i0e", "f64")
def i0e(x: Expr) -> Expr:
    """exp(-|x|) I0(x)."""
    return _scaled(x, 0)


@define("i1e", "f64")
def i1e(x: Expr) -> Expr:
    """exp(-|x|) I1(x)."""
    return _scaled(x, 1)


@define("i0", "f32")
def i0_f32(x: Expr) -> Expr:
    """The double-precision function, rounded."""
    return call("f32", call("i0", call("f64", x)))


@define("i1", "f32")
def i1_f32(x: Expr) -> Expr:
    """The double-precision function, rounded."""
    return call("f32", call("i1", call("f64", x)))


@define("i0e", "f32")
def i0e_f32(x: Expr) -> Expr:
    """The double-precision function, rounded."""
    return call("f32", call("i0e", call("f64", x)))


@define("i1e", "f32")
def i1e_f32(x: Expr) -> Expr:
    """The double-precision function, rounded."""
    return call("f32", call("i1e", call("f64", x)))
