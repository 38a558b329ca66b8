"""Composite operators that compare whole tensors."""
from flambeau.core import _core

_op = _core.operators()


def isclose(x, other, rtol, atol, equal_nan):
    if x.dtype is not other.dtype:
        raise RuntimeError(f"isclose(): self is {x.dtype} and other is {other.dtype}; convert one "
                           "of them with .to(dtype)")
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"isclose(): rtol and atol must not be negative, got {rtol} and {atol}")
    same = _op["eq"](x, other)
    if not x.is_floating_point() and not x.is_complex():
        if rtol == 0 and atol == 0:
            return same
        x, other = _op["cast"](x, _core._dtype_named("float64")), \
            _op["cast"](other, _core._dtype_named("float64"))
    if equal_nan:
        same = _op["logical_or"](same, _op["logical_and"](_op["isnan"](x), _op["isnan"](other)))
    gap = _op["abs"](_op["sub"](x, other))
    allowed = _op["add"](_op["mul"](_op["abs"](other), rtol), atol)
    near = _op["logical_and"](_op["le"](gap, allowed), _op["isfinite"](gap))
    return _op["logical_or"](same, near)


def allclose(x, other, rtol, atol, equal_nan):
    return bool(_op["all"](isclose(x, other, rtol, atol, equal_nan)))
