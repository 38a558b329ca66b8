"""Composite operators of arithmetic and reductions."""
from flambeau.core import _core
from flambeau.core.composites.refusals import has_tangent

_op = _core.operators()


def div__mode(x, other, rounding_mode):
    if rounding_mode is None:
        return _op["div"](x, other)
    if rounding_mode == "floor":
        return _floor_divide(x, other)
    if rounding_mode == "trunc":
        return _trunc_divide(x, other)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but "
                       f"found {rounding_mode!r}")


def _floor_divide(x, other):
    """Its gradient is zero, as that of any steps, where floor_divide() itself refuses one."""
    moving = [v for v in (x, other) if _core.is_tensor(v) and (v.requires_grad or has_tangent(v))]
    if not moving:
        return _op["floor_divide"](x, other)
    result = _op["floor_divide"](_constant(x), _constant(other))
    never = _op["full_of"]((), False, dtype=_core._dtype_named("bool"), device=result.device)
    for v in moving:
        result = _op["where"](never, v, result)
    return result


def _constant(x):
    return x.detach() if _core.is_tensor(x) else x


def _trunc_divide(x, other):
    """The quotient is one of the dtype before it is cut: in half precision two roundings show."""
    if _is_half(x) or _is_half(other):
        return _op["trunc"](_op["div"](x, other))
    return _op["trunc_divide"](x, other)


def _is_half(x):
    return _core.is_tensor(x) and x.dtype.name in ("float16", "bfloat16")
