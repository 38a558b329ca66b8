"""Convolutions as products with the columns that their windows meet."""
from __future__ import annotations

import math

from flambeau.core import ops
from flambeau.core.decompositions.shared import wide
from flambeau.core.decompositions.taps import Taps
from flambeau.core.dtypes import dtypes, iinfo
from flambeau.core.quantized.packing import Layout


def _batch(x, n):
    return x if x.ndim == n + 2 else x.unsqueeze(0)


def _columns(x, taps, groups):
    """``[batch, groups, channels * taps, windows]``."""
    found = taps.unfold(x)
    channels = x.shape[1] // groups
    return found.reshape(x.shape[0], groups, channels * math.prod(taps.kernel),
                         math.prod(taps.count))


def _conv(x, weight, bias, stride, padding, dilation, groups):
    n = weight.ndim - 2
    x, weight, bias = wide(x), wide(weight), wide(bias)
    batch = _batch(x, n)
    taps = Taps(batch.shape[2:], weight.shape[2:], stride, padding, dilation)
    filters = weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))
    result = (filters @ _columns(batch, taps, groups)).reshape(
        batch.shape[0], weight.shape[0], *taps.count)
    result = result if bias is None else result + bias.reshape(-1, *[1] * n)
    return result if batch is x else result.squeeze(0)


def _conv_input_grad(grad, weight, size, stride, padding, dilation, groups):
    n = weight.ndim - 2
    grad, weight = wide(grad), wide(weight)
    taps = Taps(size[-n:], weight.shape[2:], stride, padding, dilation)
    slopes = _batch(grad, n)
    slopes = slopes.reshape(slopes.shape[0], groups, weight.shape[0] // groups,
                            math.prod(taps.count))
    filters = weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))
    columns = filters.transpose(1, 2) @ slopes
    columns = columns.reshape(slopes.shape[0], groups * weight.shape[1], math.prod(taps.kernel),
                              *taps.count)
    return taps.fold(columns).reshape(size)


def _conv_weight_grad(grad, x, size, stride, padding, dilation, groups):
    n = len(size) - 2
    grad, x = wide(grad), wide(x)
    batch = _batch(x, n)
    taps = Taps(batch.shape[2:], size[2:], stride, padding, dilation)
    slopes = _batch(grad, n).reshape(batch.shape[0], groups, size[0] // groups,
                                     math.prod(taps.count))
    return (slopes @ _columns(batch, taps, groups).transpose(2, 3)).sum(0).reshape(size)


def quantized_conv(x, weight, sums, scales, bias, kernel_size, stride, padding, dilation, groups,
                   input_scale, input_zero, scale, zero_point, relu):
    n, double, single = len(kernel_size), dtypes["float64"], dtypes["float32"]
    across = dilation if isinstance(dilation, int) else dilation[-1]
    layout = Layout(sums.shape[0], x.shape[-1 - n] // groups, tuple(kernel_size), groups, across)
    exact = (ops.conv2d, ops.conv3d)[n - 2](x.to(double) - input_zero,
                                            layout.unpack(weight).to(double), None, stride,
                                            padding, dilation, groups).to(single)
    along = (-1, *[1] * n)
    one = scales * input_scale
    if bias is not None:
        exact = exact + (bias / one).reshape(along)
    numbers = ops.round(exact * (one / scale).reshape(along)) + zero_point
    info = iinfo(x.dtype)
    low = max(info.min, zero_point) if relu else info.min
    return ops.clamp(numbers, low, info.max).to(x.dtype)


conv2d = conv3d = _conv
conv2d_input_grad = conv3d_input_grad = _conv_input_grad
conv2d_weight_grad = conv3d_weight_grad = _conv_weight_grad


def im2col(x, kernel_size, dilation, padding, stride):
    taps = Taps(x.shape[-2:], kernel_size, stride, padding, dilation)
    return taps.unfold(x).reshape(*x.shape[:-3], x.shape[-3] * math.prod(taps.kernel),
                                  math.prod(taps.count))


def col2im(columns, size, kernel_size, dilation, padding, stride):
    size = (size, size) if isinstance(size, int) else tuple(size) * (2 // len(size))
    taps = Taps(size, kernel_size, stride, padding, dilation)
    area = math.prod(taps.kernel)
    return taps.fold(columns.reshape(*columns.shape[:-2], columns.shape[-2] // area, area,
                                     *taps.count))
