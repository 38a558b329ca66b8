"""What pointwise operators compute, in NumPy's float64 (integers and bool in their own dtype).

Written from the operators' mathematical definitions; nothing here reads a formula of the table.
"""

from __future__ import annotations

import math

import numpy as np
import references_special

_erf = np.vectorize(math.erf, otypes=[float])
_erfc = np.vectorize(math.erfc, otypes=[float])


def _sigmoid(x):
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, np.where(np.isnan(x), x, small)) / (1 + small)


def _softplus(x):
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))


#: Rows defined for floating-point numbers.
FLOAT = {
    "add": np.add, "sub": np.subtract, "rsub": lambda a, b: b - a, "mul": np.multiply,
    "div": np.divide, "neg": np.negative, "positive": np.positive, "abs": np.abs,
    "sign": lambda x: np.where(np.isnan(x), 0, np.sign(x)), "reciprocal": lambda x: 1 / x,
    "square": np.square, "maximum": np.maximum, "minimum": np.minimum,
    "fmax": np.fmax, "fmin": np.fmin,
    "clamp_min": np.maximum, "clamp_max": np.minimum,
    "channel_affine": lambda a, b, c: a * b + c,
    "addcmul": lambda a, b, c: a + b * c, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "round": np.rint, "frac": lambda x: x - np.trunc(x), "conj": np.conj,
    "where": np.where, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor, "logical_not": np.logical_not,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "erf": _erf, "erfc": _erfc, "sigmoid": _sigmoid,
    "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign,
    "pow": np.power, "relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)),
    "silu": lambda x: x * _sigmoid(x), "softplus": _softplus,
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "fake_quantize_by": lambda x, s, z: (np.clip(np.rint(x * (1 / s)) + z, 0, 255) - z) * s,
    "hardtanh_between": lambda x: np.clip(x, -1, 1),
    "logsigmoid": lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))),
    "gelu_exact": lambda x: x * 0.5 * _erfc(-x / math.sqrt(2)),
    "gelu_tanh": lambda x: 0.5 * x * (
        1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "binary_cross_entropy_terms": lambda x, y: -(
        y * np.maximum(np.log(x), -100) + (1 - y) * np.maximum(np.log1p(-x), -100)),
    "masked_scale": lambda x, mask: x * mask,
    "huber_terms": lambda x, y: np.where(abs(x - y) < 1, (x - y)**2 / 2, abs(x - y) - 0.5),
    "real_part": np.real, "clamp_both": lambda x, a, b: np.minimum(np.maximum(x, a), b),
}
FLOAT |= references_special.FLOAT

#: Rows whose result cancels: an error of the operands' size is expected, not of the result's.
CANCELLING = {"add", "sub", "rsub", "addcmul", "channel_affine", "gelu_tanh", "gelu_exact",
              "silu", "expm1", "logsigmoid"} | references_special.ROUGH

#: Rows defined for integers; the operands wrap around as NumPy's do.
INT = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "abs": np.abs,
    "sign": np.sign, "square": np.square, "maximum": np.maximum, "minimum": np.minimum,
    "floor": np.positive, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor, "bitwise_not": np.invert, "eq": np.equal,
    "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_xor": np.logical_xor, "logical_not": np.logical_not, "where": np.where,
    "clamp_min": np.maximum, "clamp_max": np.minimum, "relu": lambda x: np.maximum(x, 0),
    "rsub": lambda a, b: b - a,
}
INT |= references_special.INT

#: Integer division: the divisor must not be zero.
INT_DIVISION = {"floor_divide": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod,
                "trunc_divide": lambda a, b: np.trunc(a / b).astype(a.dtype)}

def _complex_sigmoid(z):
    return 1 / (1 + np.exp(-z))


COMPLEX = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "neg": np.negative, "abs": np.abs, "exp": np.exp, "conj": np.conj, "eq": np.equal,
    "ne": np.not_equal, "where": np.where, "square": np.square, "reciprocal": lambda x: 1 / x,
    "logical_not": np.logical_not, "real_part": np.real, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor, "isnan": np.isnan,
    "isinf": np.isinf, "isfinite": np.isfinite,
    "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt,
    "rsqrt": lambda z: 1 / np.sqrt(z), "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sigmoid": _complex_sigmoid, "silu": lambda z: z * _complex_sigmoid(z), "pow": np.power,
    "lerp": lambda a, b, w: a + w * (b - a),
}
COMPLEX |= references_special.COMPLEX
