"""Operators that treat each element alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.table import Call, computes

_SAME: dict[str, Callable[..., Any]] = {
    "Abs": fl.abs, "Acos": fl.acos, "Acosh": fl.acosh, "Asin": fl.asin, "Asinh": fl.asinh,
    "Atan": fl.atan, "Atanh": fl.atanh, "Ceil": fl.ceil, "Cos": fl.cos, "Cosh": fl.cosh,
    "Erf": fl.erf, "Exp": fl.exp, "Floor": fl.floor, "Log": fl.log, "Neg": fl.neg,
    "Reciprocal": fl.reciprocal, "Relu": F.relu, "Round": fl.round, "Sigmoid": fl.sigmoid,
    "Sign": fl.sign, "Sin": fl.sin, "Sinh": fl.sinh, "Sqrt": fl.sqrt, "Tan": fl.tan,
    "Tanh": fl.tanh, "Not": fl.logical_not, "IsNaN": fl.isnan, "BitwiseNot": fl.bitwise_not,
    "Add": fl.add, "Sub": fl.sub, "Mul": fl.mul, "And": fl.logical_and, "Or": fl.logical_or,
    "Xor": fl.logical_xor, "BitwiseAnd": fl.bitwise_and, "BitwiseOr": fl.bitwise_or,
    "BitwiseXor": fl.bitwise_xor, "Equal": fl.eq, "Greater": fl.gt, "GreaterOrEqual": fl.ge,
    "Less": fl.lt, "LessOrEqual": fl.le, "Where": fl.where, "Softsign": F.softsign,
    "Mish": F.mish, "HardSwish": F.hardswish}


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(call: Call, *values: fl.Tensor) -> fl.Tensor:
        if call.opset < 7 and len(values) == 2 and call.get("axis") is not None:
            values = values[0], _aligned(call, *values)
        return function(*values)

    return compute


def _aligned(call: Call, a: fl.Tensor, b: fl.Tensor) -> fl.Tensor:
    """The second operand of the oldest operators, whose first dimension lies at an axis."""
    after = a.ndim - call.get("axis") % a.ndim - b.ndim
    return b.reshape(*b.shape, *[1] * after)


for _name, _function in _SAME.items():
    computes(_name)(_plain(_function))


@computes("Div")
def divide(call: Call, a: fl.Tensor, b: fl.Tensor) -> fl.Tensor:
    """A quotient; of integers without its fraction."""
    if call.opset < 7 and call.get("axis") is not None:
        b = _aligned(call, a, b)
    return fl.div(a, b) if a.is_floating_point() else fl.div(a, b, rounding_mode="trunc")


@computes("Mod")
def mod(call: Call, a: fl.Tensor, b: fl.Tensor) -> fl.Tensor:
    """A remainder with the sign of the divisor, or with ``fmod`` of the dividend."""
    return fl.fmod(a, b) if call.get("fmod") else fl.remainder(a, b)


@computes("Pow")
def power(call: Call, a: fl.Tensor, b: fl.Tensor) -> fl.Tensor:
    """A power, of the base's dtype."""
    if a.dtype == b.dtype:
        return fl.pow(a, b)
    if not a.is_floating_point() and b.is_floating_point():
        return fl.pow(a.double(), b.double()).to(a.dtype)
    return fl.pow(a, b.to(a.dtype))


@computes("Max")
def maximum(call: Call, *values: fl.Tensor) -> fl.Tensor:
    """The greatest of several."""
    return functools.reduce(fl.maximum, values)


@computes("Min")
def minimum(call: Call, *values: fl.Tensor) -> fl.Tensor:
    """The least of several."""
    return functools.reduce(fl.minimum, values)


@computes("Sum")
def total(call: Call, *values: fl.Tensor) -> fl.Tensor:
    """The sum of several."""
    return functools.reduce(fl.add, values)


@computes("Mean")
def mean(call: Call, *values: fl.Tensor) -> fl.Tensor:
    """The mean of several."""
    return functools.reduce(fl.add, values) / len(values)


@computes("BitShift")
def shift(call: Call, a: fl.Tensor, b: fl.Tensor) -> fl.Tensor:
    """Bits moved to the left or right; those that leave are lost."""
    if call.get("direction") == "LEFT":
        return fl.bitwise_left_shift(a, b)
    return fl.bitwise_right_shift(a, b)


@computes("Clip")
def clip(call: Call, x: fl.Tensor, least: fl.Tensor | None = None,
         most: fl.Tensor | None = None) -> fl.Tensor:
    """Values limited to a range."""
    low = call.get("min") if least is None else least
    high = call.get("max") if most is None else most
    return x if low is None and high is None else fl.clamp(x, low, high)


@computes("IsInf")
def isinf(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Whether an element is infinite, of the signs asked for."""
    found = fl.isinf(x)
    if not call.get("detect_negative", 1):
        found = found & (x > 0)
    return found if call.get("detect_positive", 1) else found & (x < 0)


@computes("Elu")
def elu(call: Call, x: fl.Tensor) -> fl.Tensor:
    """``x`` where positive, else ``alpha (exp(x) - 1)``."""
    return F.elu(x, call.get("alpha", 1.0))


@computes("Celu")
def celu(call: Call, x: fl.Tensor) -> fl.Tensor:
    """``max(0, x) + min(0, alpha (exp(x / alpha) - 1))``."""
    return F.celu(x, call.get("alpha", 1.0))


@computes("Selu")
def selu(call: Call, x: fl.Tensor) -> fl.Tensor:
    """``gamma`` times ``elu``."""
    alpha = call.get("alpha", 1.67326319217681884765625)
    return F.elu(x, alpha) * call.get("gamma", 1.05070102214813232421875)


@computes("LeakyRelu")
def leaky_relu(call: Call, x: fl.Tensor) -> fl.Tensor:
    """``x`` where positive, else ``alpha x``."""
    return F.leaky_relu(x, call.get("alpha", 0.01))


@computes("PRelu")
def prelu(call: Call, x: fl.Tensor, slope: fl.Tensor) -> fl.Tensor:
    """``x`` where positive, else ``slope x``."""
    if call.opset < 7 and slope.ndim == 1 and x.ndim > 1:
        slope = slope.reshape(-1, *[1] * (x.ndim - 2))
    return fl.where(x < 0, x * slope, x)


@computes("ThresholdedRelu")
def thresholded_relu(call: Call, x: fl.Tensor) -> fl.Tensor:
    """``x`` where above ``alpha``, else 0."""
    return F.threshold(x, call.get("alpha", 1.0), 0.0)


@computes("HardSigmoid")
def hard_sigmoid(call: Call, x: fl.Tensor) -> fl.Tensor:
    """``max(0, min(1, alpha x + beta))``."""
    return fl.clamp(x * call.get("alpha", 0.2) + call.get("beta", 0.5), 0, 1)


@computes("Shrink")
def shrink(call: Call, x: fl.Tensor) -> fl.Tensor:
    """0 near 0; elsewhere ``bias`` nearer to it."""
    limit, bias = call.get("lambd", 0.5), call.get("bias", 0.0)
    kept = fl.where(x < -limit, x + bias, x - bias)
    return fl.where((x < -limit) | (x > limit), kept, fl.zeros_like(kept)).to(x.dtype)


@computes("Softplus")
def softplus(call: Call, x: fl.Tensor) -> fl.Tensor:
    """``log(1 + exp(x))``."""
    return fl.logaddexp(x, fl.zeros_like(x))


@computes("Gelu")
def gelu(call: Call, x: fl.Tensor) -> fl.Tensor:
    """``x`` times the normal distribution's function."""
    return F.gelu(x, approximate=call.get("approximate", "none"))


@computes("Swish")
def swish(call: Call, x: fl.Tensor) -> fl.Tensor:
    """``x sigmoid(alpha x)``."""
    alpha = call.get("alpha", 1.0)
    return F.silu(x) if alpha == 1 else x * fl.sigmoid(x * alpha)


@computes("Identity", "Optional", "OptionalGetElement", raw=True)
def identity(call: Call, x: Any = None) -> Any:
    """The same."""
    return x


@computes("OptionalHasElement", raw=True)
def has_element(call: Call, x: Any = None) -> fl.Tensor:
    """Whether there is a value."""
    return fl.tensor(x is not None)


@computes("Dropout", host=(1, 2))
def dropout(call: Call, x: fl.Tensor, ratio: float | None = None,
            training: bool | None = None) -> Any:
    """Elements set to 0 at random while training; which were kept is the second output."""
    p = call.get("ratio", 0.5) if ratio is None else ratio
    if not training or p == 0:
        return x, fl.ones_like(x, dtype=fl.bool)
    kept = fl.rand(x.shape, device=x.device) >= p
    return x * kept / (1 - p), kept
