"""Numbers as small integers times a scale."""

from __future__ import annotations

from typing import Any

import flambeau as fl
from flambeau.onnx.importing.operators.casting import cast
from flambeau.onnx.importing.reading import NARROW, dtype_of, number_of
from flambeau.onnx.importing.table import Call, computes


def _spread(call: Call, scale: fl.Tensor, x: fl.Tensor) -> fl.Tensor:
    """A scale for each element: one for all, for each slice of an axis, or for blocks of it."""
    if scale.numel() == 1 and scale.ndim <= 1:
        return scale.reshape([])
    axis = call.get("axis", 1) % x.ndim
    block = call.get("block_size", 0)
    if block:
        return scale.repeat_interleave(block, axis).narrow(axis, 0, x.shape[axis])
    return scale.reshape(-1, *[1] * (x.ndim - 1 - axis)) if scale.ndim == 1 else scale


@computes("QuantizeLinear")
def quantize(call: Call, x: fl.Tensor, scale: fl.Tensor, zero: fl.Tensor | None = None) -> Any:
    """``round(x / scale) + zero``, limited to the dtype."""
    number = call.get("output_dtype", 0) or call.get("type_of_2", 0)
    dtype = zero.dtype if zero is not None and not number else (
        dtype_of(number) if number else fl.uint8)
    wide = fl.float32 if x.dtype != fl.float64 else x.dtype
    y = x.to(wide) / _spread(call, scale, x).to(wide)
    if dtype.is_floating_point:
        if zero is not None:
            y = y + _spread(call, zero.to(wide), x)
        return cast(call, y, number_of(dtype))
    least, most = NARROW[number][1:] if number in NARROW else (
        fl.iinfo(dtype).min, fl.iinfo(dtype).max)
    y = fl.round(y)
    if zero is not None:
        y = y + _spread(call, zero.to(wide), x)
    return fl.clamp(y, least, most).to(dtype)


@computes("DequantizeLinear")
def dequantize(call: Call, x: fl.Tensor, scale: fl.Tensor, zero: fl.Tensor | None = None
               ) -> fl.Tensor:
    """``(x - zero) scale``."""
    number = call.get("output_dtype", 0)
    dtype = dtype_of(number) if number else scale.dtype
    wide = fl.float32
    y = x.to(fl.int32).to(wide) if not x.is_floating_point() else x.to(wide)
    if zero is not None:
        whole = zero.to(wide) if zero.is_floating_point() else zero.to(fl.int32).to(wide)
        y = y - _spread(call, whole, x)
    return (y * _spread(call, scale.to(wide), x)).to(dtype)


@computes("DynamicQuantizeLinear")
def dynamic_quantize(call: Call, x: fl.Tensor) -> tuple[fl.Tensor, ...]:
    """Bytes, with the scale and zero that fit the range of the numbers."""
    low = fl.clamp(x.min(), max=0.0)
    high = fl.clamp(x.max(), min=0.0)
    scale = (high - low) / 255
    zero = fl.clamp(fl.round(-low / scale), 0, 255)
    return fl.clamp(fl.round(x / scale) + zero, 0, 255).to(fl.uint8), scale, zero.to(fl.uint8)
