"""Composite rows of arithmetic and reductions."""
from flambeau.core import _core

_op = _core.operators()


def max(x):
    return _op["amax"](x)


def min(x):
    return _op["amin"](x)


def max__other(x, other):
    return _op["maximum"](x, other)


def min__other(x, other):
    return _op["minimum"](x, other)


def clamp(x, min, max):
    if min is None and max is None:
        raise RuntimeError("clamp(): at least one of 'min' or 'max' must not be None")
    if max is None:
        return _op["clamp_min"](x, min)
    if min is None:
        return _op["clamp_max"](x, max)
    return _op["clamp_both"](x, min, max)


def div__mode(x, other, rounding_mode):
    if rounding_mode is None:
        return _op["div"](x, other)
    if rounding_mode == "floor":
        return _op["floor_divide"](x, other)
    if rounding_mode == "trunc":
        return _trunc_divide(x, other)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but "
                       f"found {rounding_mode!r}")


def _trunc_divide(x, other):
    """The quotient is one of the dtype before it is cut: in half precision two roundings show."""
    if _is_half(x) or _is_half(other):
        return _op["trunc"](_op["div"](x, other))
    return _op["trunc_divide"](x, other)


def _is_half(x):
    return _core.is_tensor(x) and x.dtype.name in ("float16", "bfloat16")
