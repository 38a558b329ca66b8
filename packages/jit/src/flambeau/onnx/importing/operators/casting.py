"""Operators between dtypes."""

from __future__ import annotations

import math

import flambeau as fl
from flambeau.onnx.importing.reading import NARROW, dtype_of, number_of
from flambeau.onnx.importing.table import Call, computes


def cast(call: Call, x: fl.Tensor, number: int) -> fl.Tensor:
    """A tensor in the dtype of an ONNX number."""
    if number in NARROW:
        dtype, least, most = NARROW[number]
        bits = 4 if most - least == 15 else 2
        kept = x.to(fl.int64) & (2**bits - 1)
        return fl.where(kept > most, kept - 2**bits, kept).to(dtype)
    dtype = dtype_of(number)
    if dtype == fl.float8_e8m0fnu:
        return _to_exponent(call, x.float(), dtype)
    if not (dtype.is_floating_point and dtype.itemsize == 1):
        return x.to(dtype)
    x, limit = x.float(), float(fl.finfo(dtype).max)
    if call.get("saturate", 1):
        x = fl.where(fl.isnan(x), x, fl.clamp(x, -limit, limit))
    elif dtype == fl.float8_e4m3fn:
        # 448 is followed by NaN; halfway to what would follow it, 464, is rounded to the even.
        x = fl.where(fl.abs(x) > 464, fl.full_like(x, math.nan), x)
    return x.to(dtype)


def _to_exponent(call: Call, x: fl.Tensor, dtype: fl.dtype) -> fl.Tensor:
    """Powers of two: rounded up, down or to the nearest."""
    exponent = fl.floor(fl.log2(fl.abs(x.double())))
    power = fl.exp2(exponent)
    mode = call.get("round_mode", "up")
    above = x.double() > power if mode == "up" else (
        x.double() >= power * 1.5 if mode == "nearest" else fl.zeros_like(power, dtype=fl.bool))
    exponent = fl.where(above, exponent + 1, exponent)
    if call.get("saturate", 1):
        exponent = fl.clamp(exponent, -127, 127)
    bits = fl.where(fl.isfinite(x) & (exponent <= 127), exponent + 127,
                    fl.full_like(exponent, 255))
    return fl.clamp(bits, 0, 255).to(fl.uint8).view(dtype)


@computes("Cast")
def to_dtype(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Numbers of another dtype."""
    return cast(call, x, call.get("to"))


@computes("CastLike")
def to_dtype_of(call: Call, x: fl.Tensor, like: fl.Tensor) -> fl.Tensor:
    """Numbers of the dtype of another tensor."""
    number = call.get("type_of_1")
    return cast(call, x, number if number in NARROW else number_of(like.dtype))


@computes("BitCast")
def bit_cast(call: Call, x: fl.Tensor) -> fl.Tensor:
    """The same bits as another dtype."""
    return x.contiguous().view(dtype_of(call.get("to")))
