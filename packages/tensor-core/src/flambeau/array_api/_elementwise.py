"""Functions of every element."""
from __future__ import annotations

import operator as operators
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau.array_api._promotion import as_arrays, together

_OF_ONE = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "conj", "cos",
    "cosh", "exp", "imag", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2",
    "logical_not", "negative", "positive", "real", "reciprocal", "signbit", "sin", "sinh",
    "sqrt", "square", "tan")
_ROUNDING = ("ceil", "floor", "round", "trunc")
_OF_TWO = (
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "copysign", "divide", "equal", "greater", "greater_equal",
    "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "subtract")

#: Names of the standard whose function has another name here.
_OTHER_NAMES = {"bitwise_invert": "bitwise_not"}

#: Comparisons are Python's, which take a number on either side, however large it is.
_COMPARISONS = {"equal": operators.eq, "not_equal": operators.ne, "less": operators.lt,
                "less_equal": operators.le, "greater": operators.gt, "greater_equal": operators.ge}

#: Functions that take two tensors and no numbers, or do something of their own with numbers.
_OF_TENSORS = ("atan2", "copysign", "hypot", "logaddexp", "logical_and", "logical_or",
               "logical_xor", "maximum", "minimum", "nextafter", "pow")


def _operator(name: str) -> Callable[..., Any]:
    compare = _COMPARISONS.get(name)
    return compare or getattr(flambeau, _OTHER_NAMES.get(name, name))


def _of_one(name: str) -> Callable[..., Any]:
    operator = _operator(name)

    def function(x: Any, /) -> Any:
        return operator(x)

    return _named(function, name, f"``{name}`` of every element.")


def _rounding(name: str) -> Callable[..., Any]:
    operator = _operator(name)

    def function(x: Any, /) -> Any:
        if x.is_complex():
            return flambeau.complex(operator(x.real), operator(x.imag))
        return operator(x) if x.is_floating_point() else x.clone()

    return _named(function, name, f"``{name}`` of every element; integers as they are.")


def _of_two(name: str) -> Callable[..., Any]:
    operator = _operator(name)

    meet = as_arrays if name in _OF_TENSORS else together

    def function(x1: Any, x2: Any, /) -> Any:
        return operator(*meet(x1, x2))

    return _named(function, name, f"``{name}`` of the elements of two arrays, or of an array and "
                                  "a number.")


def _named(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "flambeau.array_api"
    function.__doc__ = doc
    return function


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Every element, or the bound that it lies beyond; the dtype is that of ``x``."""
    if min is None and max is None:
        return x.clone()
    bounds = [b.to(x.dtype) if isinstance(b, flambeau.Tensor) else b for b in (min, max)]
    return flambeau.clamp(x, *bounds)


def remainder(x1: Any, x2: Any, /) -> Any:
    """The remainder of the elements, with the sign of the divisor, also where it is zero."""
    x1, x2 = together(x1, x2)
    result = flambeau.remainder(x1, x2)
    if not result.is_floating_point():
        return result
    divisor = x2 if isinstance(x2, flambeau.Tensor) else flambeau.tensor(x2, dtype=result.dtype)
    return flambeau.where(result == 0, flambeau.copysign(result, divisor), result)


def expm1(x: Any, /) -> Any:
    """``exp(x) - 1``; the real part is never -0 for complex numbers."""
    result = flambeau.expm1(x)
    return flambeau.complex(result.real + 0.0, result.imag) if x.is_complex() else result


def tanh(x: Any, /) -> Any:
    """``tanh`` of every element; at infinity the zero imaginary part has the sign of that of ``x``.

    In C, NumPy and PyTorch that sign is the one of ``sin(2 * imag(x))``.
    """
    result = flambeau.tanh(x)
    if not x.is_complex():
        return result
    at_infinity = flambeau.isinf(x.real) & flambeau.isfinite(x.imag)
    return flambeau.complex(result.real, flambeau.where(at_infinity, x.imag * 0, result.imag))


def sign(x: Any, /) -> Any:
    """The sign of every element; NaN for NaN, where PyTorch has 0."""
    signs = flambeau.sgn(x)
    return flambeau.where(flambeau.isnan(x), x, signs) if _has_nan(x.dtype) else signs


def _has_nan(dtype: Any) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def floor_divide(x1: Any, x2: Any, /) -> Any:
    """The quotient rounded down.

    With infinite operands it is ``floor(x1 / x2)``, as the standard prefers; ``x1 // x2`` gives
    what Python and PyTorch do, NaN or -1, but under ``set_promotion("array_api")``.
    """
    x1, x2 = as_arrays(x1, x2)
    result = flambeau.floor_divide(x1, x2)
    if not result.is_floating_point():
        return result
    infinite = flambeau.isinf(x1) | flambeau.isinf(x2)
    return flambeau.where(infinite, flambeau.floor(x1 / x2), result)


globals().update({name: _of_one(name) for name in _OF_ONE})
globals().update({name: _rounding(name) for name in _ROUNDING})
globals().update({name: _of_two(name) for name in _OF_TWO})

__all__ = ["clip", "expm1", "floor_divide", "remainder", "sign", "tanh"]
__all__.extend(_OF_ONE + _ROUNDING + _OF_TWO)
