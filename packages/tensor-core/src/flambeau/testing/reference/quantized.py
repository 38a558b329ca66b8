"""Integers that stand for numbers, with NumPy."""
from __future__ import annotations

import numpy as np

from flambeau.testing.reference.kernels import kernel
from flambeau.testing.reference.windows import Taps

_F = np.float32


def _unpacked(packed, outputs, channels, groups, taps, joined):
    """The weight ``[outputs, channels, taps]``, element by element."""
    weight = np.zeros((outputs, channels, taps), np.int64)
    depthwise = groups > 1 and channels == 1 and outputs == groups
    count, run = outputs // groups, channels * (joined or 1)
    packed = packed.reshape(-1, -(-taps // 4), 64, 4) if depthwise else packed.reshape(
        groups, -(-count // 32), -1, -(-run // 4), 32, 4)
    for o, c, t in np.ndindex(*weight.shape):
        if depthwise:
            k = o % 64
            at: tuple[int, ...] = (o // 64, t // 4, k % 16 // 4 * 16 + k // 16 * 4 + k % 4, t % 4)
        else:
            which, term = divmod(t * channels + c, run)
            at = (o // count, o % count // 32, which, term // 4, o % count % 32, term % 4)
        weight[o, c, t] = packed[at]
    return weight


def _clamped(steps, zero_point, dtype, relu=False):
    info = np.iinfo(dtype)
    steps = np.where(np.isnan(steps), info.max, steps + _F(zero_point))
    return np.clip(steps, max(info.min, zero_point) if relu else info.min, info.max).astype(dtype)


@kernel("quantized_conv")
def quantized_conv(x, packed, sums, scales, bias, kernel_size, stride, padding, dilation, groups,
                   input_scale, input_zero, scale, zero_point, relu):
    n = len(kernel_size)
    batch = x if x.ndim == n + 2 else x[None]
    across = dilation if isinstance(dilation, int) else dilation[-1]
    joined = kernel_size[-1] if groups == 1 and across == 1 else 0
    taps = Taps(batch.shape[2:], kernel_size, stride, padding, dilation)
    weight = _unpacked(packed, len(sums), batch.shape[1] // groups, groups,
                       int(np.prod(kernel_size)), joined)
    columns = taps.gather(batch.astype(np.int64) - input_zero)      # [batch, channels, taps, ...]
    columns = columns.reshape(batch.shape[0], groups, weight.shape[1], weight.shape[2], -1)
    exact = np.einsum("ngctp,goct->ngop", columns, weight.reshape(groups, -1, *weight.shape[1:]))
    one = _F(input_scale) * scales
    exact = exact.reshape(batch.shape[0], len(sums), -1).astype(np.float32)
    if bias is not None:
        exact = exact + (bias / one)[:, None]
    result = _clamped(np.rint(exact * (one / _F(scale))[:, None]), zero_point, x.dtype, relu)
    result = result.reshape(batch.shape[0], len(sums), *taps.count)
    return result if x.ndim == n + 2 else result[0]


def _integers(numbers, scale, zero_point, dtype, relu=False):
    return _clamped(np.rint(numbers * _F(1 / np.float64(_F(scale)))), zero_point, dtype, relu)


@kernel("quantize_values")
def quantize_values(x, scale, zero_point, dtype):
    return _integers(x, scale, zero_point, str(dtype).split(".")[-1])


@kernel("dequantize_values")
def dequantize_values(x, scale, zero_point):
    return (x.astype(np.float32) - _F(zero_point)) * _F(scale)


def _numbers(x, other, scales, zero_points):
    return (dequantize_values(x, scales[0], zero_points[0]),
            dequantize_values(other, scales[1], zero_points[1]))


@kernel("quantized_add")
def quantized_add(x, other, scales, zero_points, relu):
    a, b = _numbers(x, other, scales, zero_points)
    return _integers(a + b, scales[2], zero_points[2], x.dtype, relu)


@kernel("quantized_mul")
def quantized_mul(x, other, scales, zero_points):
    a, b = _numbers(x, other, scales, zero_points)
    return _integers(a * b, scales[2], zero_points[2], x.dtype)
