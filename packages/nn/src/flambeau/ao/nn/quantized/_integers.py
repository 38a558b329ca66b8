"""Products of integers that stay integers, for weights without zero points.

A weight is laid out for the kernels when a layer first needs it, and kept with the tensor; its
state, copies and files have the weight alone.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor
from flambeau.core import _core, ops
from flambeau.core.quantized.packing import Layout
from flambeau.core.quantized.schemes import Quantizer
from flambeau.core.quantized.tensor import QuantizedTensor, wrap

#: Stride, padding and dilation in numbers for each dimension, and groups.
Window = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]
#: Terms of 255 * 128 whose sum fits into 32 bits.
_MOST_TERMS = (2**31 - 1) // (255 * 128)


class Packed(NamedTuple):
    """A weight in the kernels' order, its sums and its scales for each output channel."""

    values: Tensor
    sums: Tensor
    scales: Tensor
    kernel: tuple[int, ...]
    key: tuple[Any, ...]


def packed(weight: QuantizedTensor, groups: int, dilation: int) -> Packed | None:
    """The weight as kernels read it, or None where they cannot.

    Args:
        weight: ``[outputs, channels, *kernel]``, or a matrix.
        groups: Of the convolution.
        dilation: Along the last dimension.
    """
    key = (groups, dilation, weight._values._version, weight._quantizer)
    found: Packed | None = weight.__dict__.get("_packed")
    if found is None or found.key[:3] != key[:3] or found.key[3] is not key[3]:
        found = _core.call_unwatched(lambda: _pack(weight, key) if _fits(weight) else None)
        if found is not None:
            weight.__dict__["_packed"] = found
    return found


def _fits(weight: QuantizedTensor) -> bool:
    zero, shape = weight._quantizer.zero_point, weight.shape
    return (weight._dtype is flambeau.qint8 and weight._quantizer.axis in (None, 0)
            and shape[0] > 0 and not weight.is_meta and weight.numel() <= _MOST_TERMS * shape[0]
            and not bool(flambeau.as_tensor(zero).any()))


def _pack(weight: QuantizedTensor, key: tuple[Any, ...]) -> Packed:
    outputs, channels, *kernel = weight.shape
    kernel = [*[1] * (2 - len(kernel)), *kernel]
    groups, dilation = key[:2]
    layout = Layout(outputs, channels, tuple(kernel), groups, dilation)
    integers, scale = weight._values, weight._quantizer.scale
    sums = integers.reshape(outputs, -1).sum(1, dtype=flambeau.int32)
    scales = scale.float() if isinstance(scale, Tensor) else flambeau.full((outputs,), float(scale))
    return Packed(layout.pack(integers), sums, scales, layout.kernel, key)


def convolution(x: QuantizedTensor, weight: QuantizedTensor, bias: Tensor | None,
                window: Window, scale: float, zero_point: int,
                relu: bool) -> QuantizedTensor | None:
    """A convolution of integers, or None where the weight has no form for it.

    Args:
        x: ``[batch, channels, *sizes]`` or without batch.
        weight: ``[outputs, channels, *kernel]``.
        bias: Floats, or None.
        window: What `window_of` gives.
        scale: Of the result.
        zero_point: Of the result.
        relu: Whether what is below zero becomes zero.
    """
    stride, padding, dilation, groups = window
    found = packed(weight, groups, dilation[-1])
    if found is None:
        return None
    values, quantizer = x._values, x._quantizer
    line = len(stride) == 1
    if line:
        values, padding = values.unsqueeze(-2), (0, *padding)
        stride, dilation = (1, *stride), (1, *dilation)
    result = ops.quantized_conv(
        values, found.values, found.sums, found.scales, _floats(bias), found.kernel, stride,
        padding, dilation, groups, quantizer.scale, quantizer.zero_point, scale, zero_point, relu)
    return wrap(result.squeeze(-2) if line else result, x._dtype, Quantizer(scale, zero_point))


def window_of(window: tuple[Any, Any, Any, int], kernel: tuple[int, ...]) -> Window | None:
    """A window in numbers for each dimension, or None where its sides have different padding.

    Args:
        window: Stride, padding, dilation and groups, as a convolution takes them.
        kernel: The size of the window.
    """
    stride, padding, dilation, groups = window
    n = len(kernel)
    stride, dilation = _each(stride, n), _each(dilation, n)
    if isinstance(padding, str):
        reach = zip(kernel, dilation, strict=True)
        both = [d * (k - 1) if padding == "same" else 0 for k, d in reach]
        if any(size % 2 for size in both):
            return None
        padding = [size // 2 for size in both]
    return stride, _each(padding, n), dilation, groups


def _each(value: Any, n: int) -> tuple[int, ...]:
    found = (value,) if isinstance(value, int) else tuple(value)
    return found * n if len(found) == 1 else found


def linear(x: QuantizedTensor, weight: QuantizedTensor, bias: Tensor | None, scale: float,
           zero_point: int, relu: bool) -> QuantizedTensor | None:
    """A product of rows of integers with a weight, or None where it has no form for that."""
    found = packed(weight, 1, 1)
    if found is None or not x.ndim or x.shape[-1] != weight.shape[1]:
        return None
    values, quantizer = x._values, x._quantizer
    rows = values.reshape(-1, *values.shape[-1:], 1, 1) if values.shape[-1] else \
        values.reshape(values.shape[:-1].numel(), 0, 1, 1)
    result = ops.quantized_conv(
        rows, found.values, found.sums, found.scales, _floats(bias), (1, 1), 1, 0, 1, 1,
        quantizer.scale, quantizer.zero_point, scale, zero_point, relu)
    result = result.reshape(*values.shape[:-1], weight.shape[0])
    return wrap(result, x._dtype, Quantizer(scale, zero_point))


def _floats(bias: Tensor | None) -> Tensor | None:
    return None if bias is None else bias.detach().float()
