"""Functions of neural networks."""

from __future__ import annotations

from ..expr import Expr, call
from ..registry import define
from .tools import absolute, fma, select

_ROOT_HALF = 0.7071067811865476
_ROOT_TWO_OVER_PI = 0.7978845608028654


@define("relu", "float", "int")
def relu(x: Expr) -> Expr:
    """max(x, 0), nan stays nan."""
    return call("maximum", x, 0)


@define("sigmoid", "float")
def sigmoid(x: Expr) -> Expr:
    """1 / (1 + exp(-x)), with the exponential of a negative number only."""
    e = call("exp", -absolute(x))
    return select(x < 0.0, e, 1.0) / (1.0 + e)


@define("logsigmoid", "float")
def logsigmoid(x: Expr) -> Expr:
    """log(sigmoid(x))."""
    return call("minimum", x, 0.0) - call("log1p", call("exp", -absolute(x)))


@define("silu", "float")
def silu(x: Expr) -> Expr:
    """x * sigmoid(x)."""
    return x * call("sigmoid", x)


@define("softplus", "float")
def softplus(x: Expr) -> Expr:
    """log(1 + exp(x))."""
    return call("maximum", x, 0.0) + call("log1p", call("exp", -absolute(x)))


@define("mish", "float")
def mish(x: Expr) -> Expr:
    """x * tanh(softplus(x))."""
    return x * call("tanh", call("softplus", x))


@define("gelu", "float")
def gelu(x: Expr) -> Expr:
    """x times the normal distribution function."""
    return 0.5 * x * (1.0 + call("erf", x * _ROOT_HALF))


@define("gelu_tanh", "float")
def gelu_tanh(x: Expr) -> Expr:
    """gelu with the distribution function approximated by tanh."""
    inner = _ROOT_TWO_OVER_PI * fma(0.044715 * x * x, x, x)
    return 0.5 * x * (1.0 + call("tanh", inner))
