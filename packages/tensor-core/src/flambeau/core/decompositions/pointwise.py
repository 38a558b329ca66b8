"""Numbers and the integers that stand for them."""
from __future__ import annotations

from flambeau.core import ops
from flambeau.core.dtypes import dtypes, iinfo


def _rounded(numbers, scale, zero_point, dtype, relu=False):
    info = iinfo(dtype)
    steps = ops.round(numbers * ops.reciprocal(_single(scale, numbers).double()).float())
    steps = ops.nan_to_num(steps + zero_point, nan=float(info.max))
    return ops.clamp(steps, max(info.min, zero_point) if relu else info.min, info.max).to(dtype)


def _single(number, like):
    return ops.full_of((), number, dtype=dtypes["float32"], device=like.device)


def quantize_values(x, scale, zero_point, dtype):
    return _rounded(x, scale, zero_point, dtype)


def dequantize_values(x, scale, zero_point):
    return (x.to(dtypes["float32"]) - zero_point) * scale


def _numbers(x, other, scales, zero_points):
    return (dequantize_values(x, scales[0], zero_points[0]),
            dequantize_values(other, scales[1], zero_points[1]))


def quantized_add(x, other, scales, zero_points, relu):
    a, b = _numbers(x, other, scales, zero_points)
    return _rounded(a + b, scales[2], zero_points[2], x.dtype, relu)


def quantized_mul(x, other, scales, zero_points):
    a, b = _numbers(x, other, scales, zero_points)
    return _rounded(a * b, scales[2], zero_points[2], x.dtype)
