"""Halves in float32 where their sums or squares may exceed float16, rounded once at the end."""
from collections.abc import Callable
from functools import wraps

from flambeau.core import _core

_op = _core.operators()


def is_half(x) -> bool:
    """Whether a value is a tensor of float16 or bfloat16."""
    return _core.is_tensor(x) and x.dtype.name in ("float16", "bfloat16")


def total(x, dim=None, keepdim=False):
    """The sum of a tensor, of halves in float32."""
    dtype = _core._dtype_named("float32") if is_half(x) else None
    return _op["sum"](x, dim, keepdim, dtype=dtype)


def widened(x):
    """A tensor, of halves in float32."""
    return _op["cast"](x, _core._dtype_named("float32")) if is_half(x) else x


def rounded(x, dtype):
    """A tensor in a dtype."""
    return x if x.dtype is dtype else _op["cast"](x, dtype)


def in_float32(function: Callable) -> Callable:
    """A composite that computes halves in float32, where all that is no integer is of one half."""
    @wraps(function)
    def call(x, *args):
        tensors = [a for a in args if _core.is_tensor(a) and a.is_floating_point()]
        if not is_half(x) or any(a.dtype is not x.dtype for a in tensors):
            return function(x, *args)
        return _op["cast"](function(*map(widened, (x, *args))), x.dtype)

    return call
