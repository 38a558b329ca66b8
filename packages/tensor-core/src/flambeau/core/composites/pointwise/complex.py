"""Composite operators of complex numbers."""
from flambeau.core import _core

_op = _core.operators()
_float32, _float64 = _core._dtype_named("float32"), _core._dtype_named("float64")


def _check_parts(name, first, a, second, b):
    """Both parts must be float32 or both float64."""
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{name}(): '{first}' is {a.dtype.name} and '{second}' is "
                           f"{b.dtype.name}; both must have the same dtype: convert one with "
                           ".to()")
    if a.dtype is not _float32 and a.dtype is not _float64:
        raise RuntimeError(f"{name}(): complex numbers are made of two float32 or two float64 "
                           f"tensors, not of {a.dtype.name}; convert both with .float()")


def _joined(real, imag):
    shape = _common_shape(tuple(real.shape), tuple(imag.shape))
    parts = [x if tuple(x.shape) == shape else _op["expand"](x, shape) for x in (real, imag)]
    return _op["view_as_complex"](_op["stack"](parts, -1))


def _common_shape(a, b):
    """The shape that two shapes broadcast to; sizes that do not meet are refused by ``expand``."""
    short, long = sorted((a, b), key=len)
    padded = (1,) * (len(long) - len(short)) + short
    return tuple(n if m == 1 else m for m, n in zip(padded, long, strict=True))


def complex(real, imag):
    _check_parts("complex", "real", real, "imag", imag)
    return _joined(real, imag)


def polar(size, angle):
    _check_parts("polar", "abs", size, "angle", angle)
    return _joined(_op["mul"](size, _op["cos"](angle)), _op["mul"](size, _op["sin"](angle)))


def resolve_conj(x):
    return x


def resolve_neg(x):
    return x
