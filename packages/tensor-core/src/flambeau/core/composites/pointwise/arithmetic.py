"""Composite operators of arithmetic and reductions."""
from flambeau.core import _core

_op = _core.operators()


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
