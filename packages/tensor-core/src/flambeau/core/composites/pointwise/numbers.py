"""Composite operators of arithmetic beyond the four operations."""
from flambeau.core import _core
from flambeau.core.composites.refusals import refusing
from flambeau.core.dtypes import finfo

_op = _core.operators()
#: By dtype, where it was asked for: working it out takes longer than the kernel on small tensors.
_GREATEST: dict = {}


def angle(x):
    return _op["angle_of_complex" if x.is_complex() else "angle_of"](x)


def conj_physical(x):
    return _op["conj"](x) if x.is_complex() else x


def positive(x):
    if x.dtype == _core._dtype_named("bool"):
        raise RuntimeError("positive(): The `+` operator, on a bool tensor is not supported: "
                           "write +x.to(flambeau.int64) for numbers")
    return x


def resolve_conj(x):
    return x


def resolve_neg(x):
    return x


def _real(name, x):
    if x.is_complex():
        raise RuntimeError(f"{name}() does not support complex inputs; use x.real or x.imag")
    return x


def isreal(x):
    if not x.is_complex():
        return _op["ones_like"](x, dtype=_core._dtype_named("bool"))
    return _op["eq"](_op["select"](_op["view_as_real"](x), -1, 1), 0)


def heaviside(x, values):
    if x.dtype is not values.dtype:
        raise RuntimeError(f"heaviside(): self is {x.dtype} and values is {values.dtype}; convert "
                           "one of them with .to(dtype)")
    at, there = _real("heaviside", x).detach(), values.detach()
    above = _op["cast"](_op["gt"](at, 0), x.dtype)
    return refusing("heaviside", _op["where"](_op["eq"](at, 0), there, above), x, values)


def float_power(x, exponent):
    return _op["pow"](_double(x), _double(exponent))


def _double(x):
    """A tensor in double precision; a number as it is."""
    if not _core.is_tensor(x):
        return x
    return _op["cast"](x, _core._dtype_named("complex128" if x.is_complex() else "float64"))


def ldexp(x, other):
    whole = _core.is_tensor(other) and not other.is_floating_point() and not other.is_complex()
    if not (whole and x.is_floating_point()):
        return _op["mul"](x, _op["pow"](2.0, other))
    wide = _widened(x) if x.dtype.itemsize == 2 else x
    factor = _op["pow"](2.0, _op["cast"](other, wide.dtype))
    result = _op["mul"](wide, factor)
    return result if wide is x else _op["cast"](result, x.dtype)


def _widened(x):
    """float16 and bfloat16 in float32, so that several steps round once."""
    return _op["cast"](x, _core.promote_types(x.dtype, _core._dtype_named("float32")))


#: The least number, the least normal one, steps of float32 between two numbers, and what follows
#: the greatest.
_NARROW = {"float16": (2.0**-24, 2.0**-14, 2**13, 2.0**16),
           "bfloat16": (2.0**-133, 2.0**-126, 2**16, float("inf"))}


def nextafter(x, other):
    dtype = _core.result_type(x, other)
    facts = _NARROW.get(dtype.name)
    if facts is None:
        return _op["nextafter_wide"](x, other)
    return _op["nextafter_narrow"](x, other, *facts)


def nan_to_num(x, nan, posinf, neginf):
    if x.is_complex():
        parts = nan_to_num(_op["view_as_real"](x), nan, posinf, neginf)
        return _op["view_as_complex"](parts)
    if not x.is_floating_point():
        return _op["clone"](x)
    greatest = _greatest(x.dtype)
    return _op["replace_nonfinite"](x, 0.0 if nan is None else nan,
                                    greatest if posinf is None else posinf,
                                    -greatest if neginf is None else neginf)


def _greatest(dtype):
    """The greatest finite number of a dtype."""
    found = _GREATEST.get(dtype)
    if found is None:
        found = _GREATEST[dtype] = finfo(dtype).max
    return found


def round__decimals(x, decimals):
    if not x.is_floating_point():
        raise RuntimeError(f"round(): decimals= is for floating-point numbers, self is {x.dtype}; "
                           "convert with x.float() first")
    if decimals == 0:
        return _op["round"](x)
    scale = 10.0 ** min(abs(decimals), 308)
    if decimals > 0:
        return _op["round_by"](x, scale)
    rounded = _op["mul"](_op["round"](_op["div"](_widened(x), scale)), scale)
    return _op["cast"](rounded, x.dtype)


def fake_quantize_per_tensor_affine(x, scale, zero_point, quant_min, quant_max):
    _check_range("fake_quantize_per_tensor_affine", quant_min, quant_max)
    return _rounded_by(x, scale, zero_point, quant_min, quant_max)


def fake_quantize_per_channel_affine(x, scale, zero_point, axis, quant_min, quant_max):
    what = "fake_quantize_per_channel_affine"
    _check_range(what, quant_min, quant_max)
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"{what}(): axis {axis} is out of range for an input of {x.ndim} "
                         "dimensions")
    if tuple(scale.shape) != (x.shape[axis],) or tuple(zero_point.shape) != (x.shape[axis],):
        raise RuntimeError(f"{what}(): dimensions of scale {tuple(scale.shape)} and zero_point "
                           f"{tuple(zero_point.shape)} are not consistent with input tensor: along "
                           f"axis {axis} it has {x.shape[axis]} channels")
    each = [1] * x.ndim
    each[axis] = -1
    scale, zero_point = _op["reshape"](scale, each), _op["reshape"](zero_point, each)
    if not zero_point.dtype.is_floating_point:
        return _rounded_by(x, scale, zero_point, quant_min, quant_max)
    # Such a zero point counts before the rounding: what it is more than an integer shifts numbers.
    nearest = _op["round"](zero_point)
    shift = (zero_point - nearest) * scale
    return _op["cast"](_rounded_by(x + shift, scale, nearest, quant_min, quant_max) - shift,
                       x.dtype)


def _rounded_by(x, scale, zero_point, quant_min, quant_max):
    """Numbers of the input's dtype, whatever the scale's is: halves are computed in float32."""
    made = _op["fake_quantize_by"](x, scale, zero_point, quant_min, quant_max)
    return made if made.dtype is x.dtype else _op["cast"](made, x.dtype)


def _check_range(what, quant_min, quant_max):
    if quant_min > quant_max:
        raise RuntimeError(f"{what}(): `quant_min` should be less than or equal to `quant_max`, "
                           f"got {quant_min} and {quant_max}")
