"""Functions of neural networks."""

from __future__ import annotations

from ..expr import Expr, call
from ..registry import define
from .coefficients import HALF_EXP2, LOG2_NDTR
from .exponential import EXP_DENORMAL, exp_falling, exp_raised
from .tools import (
    FORMATS,
    INF,
    absolute,
    away_from_zero,
    bits,
    even_odd,
    fma,
    frombits,
    lower,
    select,
)

#: The normal distribution function of the negative of this and beyond counts as 0.
_NDTR_RANGE = 7.0
_ROOT_HALF = 0.7071067811865476
_ROOT_TWO_OVER_PI = 0.7978845608028654
#: x exp(x) is denormal below, and nan at -inf.
_SILU_DENORMAL = {"f32": -91.9, "f64": -715.0}


@define("relu", "float", "int")
def relu(x: Expr) -> Expr:
    """max(x, 0), nan stays nan."""
    return call("maximum", x, 0)


@define("sigmoid", "float")
def sigmoid(x: Expr, *, dtype: str) -> Expr:
    """1 / (1 + exp(-x)), with the exponential of a negative number only."""
    e, down = exp_raised(-absolute(x), dtype)
    raised = select(x < 0.0, e, 1.0 / down) / fma(e, down, 1.0)
    return lower(raised, down, x < EXP_DENORMAL[dtype], dtype)


@define("logsigmoid", "float")
def logsigmoid(x: Expr, *, dtype: str) -> Expr:
    """log(sigmoid(x))."""
    return call("minimum", x, 0.0) - call("log1p", exp_falling(-absolute(x), dtype))


@define("silu", "float")
def silu(x: Expr, *, dtype: str) -> Expr:
    """x * sigmoid(x)."""
    e, down = exp_raised(-absolute(x), dtype)
    negative = x < 0.0
    raised = x * (select(negative, e, 1.0) / fma(e, down, 1.0))
    return _lower_silu(x, raised, select(negative, down, 1.0), dtype)


def _lower_silu(x: Expr, raised: Expr, down: Expr, dtype: str) -> Expr:
    """raised * down, which is close to x exp(x) where that is small and x < 0."""
    denormal = (x < _SILU_DENORMAL[dtype]) & (x > -INF)
    return lower(raised, down, denormal, dtype, sign=-1)


@define("softplus", "float")
def softplus(x: Expr, *, dtype: str) -> Expr:
    """log(1 + exp(x))."""
    return call("maximum", x, 0.0) + call("log1p", exp_falling(-absolute(x), dtype))


@define("softplus_scaled", "float")
def softplus_scaled(x: Expr, beta: Expr) -> Expr:
    """log(1 + exp(beta * x)) / beta, whose derivative divides by nothing."""
    return call("log1p", call("exp", x * beta)) / beta


@define("mish", "float")
def mish(x: Expr, *, dtype: str) -> Expr:
    """x * tanh(softplus(x)), where tanh(log(1 + w)) = w (w + 2) / (w (w + 2) + 2)."""
    w, down = exp_raised(call("minimum", x, 20.0), dtype)
    n = w * fma(w, down, 2.0)
    negative = x < 0.0
    raised = n / fma(n, down, 2.0) * select(negative, 1.0, down)
    return _lower_silu(x, x * raised, select(negative, down, 1.0), dtype)


@define("gelu", "f32")
def gelu_f32(x: Expr) -> Expr:
    """x times the normal distribution function, that of -|x| being 2**(a * Q(a) - 1).

    Unlike 1 + erf, this cancels nowhere: the negative tail keeps three digits and more.
    """
    a = away_from_zero(absolute(x), "f32")
    q = even_odd(a, LOG2_NDTR["f32"])
    shifted = fma(q, a, FORMATS["f32"].magic)
    r = fma(q, a, -(shifted - FORMATS["f32"].magic))
    half_power = fma(r, even_odd(r, HALF_EXP2["f32"]), 0.5)
    power = bits(half_power) + (bits(shifted) << FORMATS["f32"].mantissa)
    tail = select(a < _NDTR_RANGE, frombits(power), 0.0)
    return x * select(x < 0.0, tail, 1.0 - tail)


@define("gelu", "f64")
def gelu_f64(x: Expr) -> Expr:
    """x times the normal distribution function."""
    return 0.5 * x * (1.0 + call("erf", x * _ROOT_HALF))


@define("gelu_tanh", "float")
def gelu_tanh(x: Expr) -> Expr:
    """gelu with the distribution function approximated by tanh."""
    inner = _ROOT_TWO_OVER_PI * fma(0.044715 * x * x, x, x)
    return 0.5 * x * (1.0 + call("tanh", inner))
