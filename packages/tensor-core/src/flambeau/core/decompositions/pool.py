"""Pooling over the taps of windows."""
from __future__ import annotations

import math

from flambeau.core import ops
from flambeau.core.decompositions.shared import each, filled, lowest, numbers, wide
from flambeau.core.decompositions.taps import Taps
from flambeau.core.dtypes import dtypes


def max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode):
    """Outside of the plane lies what is below every element; of equals the first inside wins."""
    taps = Taps(x.shape[-2:], kernel_size, stride, padding, dilation, ceil_mode)
    plane = numbers(x.shape[-2] * x.shape[-1], x.device).reshape(tuple(x.shape[-2:]))
    positions = taps.unfold(plane, -1)
    low = lowest(x)
    met = ops.where(positions >= 0, taps.unfold(x), low)
    first_low = ((met == low) & (positions >= 0)).to(dtypes["uint8"]).argmax(-3, True)
    chosen = met.argmax(-3, True)
    values = ops.gather(met, -3, chosen)
    chosen = ops.where(values == low, first_low, chosen)
    found = ops.gather(positions.expand(met.shape), -3, chosen)
    return values.squeeze(-3), found.squeeze(-3)


def max_pool2d_compact_indices(x, kernel_size, stride, padding, dilation, ceil_mode):
    return max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_values(x, kernel_size, stride, padding, dilation, ceil_mode):
    return max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool2d_grad(grad, indices, size):
    grad, area = wide(grad), size[-2] * size[-1]
    planes = filled((*size[:-2], area), 0, grad)
    flat = indices.to(dtypes["int64"]).reshape(*size[:-2], indices.shape[-2] * indices.shape[-1])
    return ops.scatter_add(planes, -1, flat, grad.reshape(flat.shape)).reshape(size)


def _divisors(x, taps, include_pad, override):
    """How many elements each window counts: of the padding where it counts, none beyond it."""
    if override is not None:
        return override
    size, padding = taps.size, taps.padding
    if include_pad:
        size, padding = tuple(n + 2 * p for n, p in zip(size, padding, strict=True)), 0
    wider = Taps(size, taps.kernel, taps.stride, padding, taps.dilation)
    wider.count = taps.count
    return wider.unfold(filled(size, 1, x)).sum(-3)


def avg_pool2d(x, kernel_size, stride, padding, ceil_mode, include_pad, override):
    x, taps = wide(x), Taps(x.shape[-2:], kernel_size, stride, padding, 1, ceil_mode)
    total = taps.unfold(x).sum(-3)
    if x.dtype.is_floating_point:
        return total / _divisors(x, taps, include_pad, override)
    return ops.div(total, _divisors(x, taps, include_pad, override), rounding_mode="trunc")


def avg_pool2d_grad(grad, size, kernel_size, stride, padding, ceil_mode, include_pad, override):
    grad, taps = wide(grad), Taps(size[-2:], kernel_size, stride, padding, 1, ceil_mode)
    share = (grad / _divisors(grad, taps, include_pad, override)).unsqueeze(-3)
    area = taps.kernel[0] * taps.kernel[1]
    return taps.fold(share.expand(*share.shape[:-3], area, *share.shape[-2:]))


# ---- windows of about equal sizes, along one dimension -------------------------------------------
def _spans(size, windows):
    return [(i * size // windows, -(-(i + 1) * size // windows)) for i in range(windows)]


def adaptive_mean(x, dim, windows):
    x = wide(x)
    return ops.stack([x.narrow(dim, begin, end - begin).mean(dim)
                      for begin, end in _spans(x.shape[dim], windows)], dim)


def adaptive_mean_grad(grad, dim, length):
    grad = wide(grad)
    size = list(grad.shape)
    windows, size[dim] = size[dim], length
    result = filled(size, 0, grad)
    for i, (begin, end) in enumerate(_spans(length, windows)):
        ops.add_(result.narrow(dim, begin, end - begin), grad.narrow(dim, i, 1) / (end - begin))
    return result


def adaptive_max(x, dim, windows):
    spans = _spans(x.shape[dim], windows)
    found = [ops.max(x.narrow(dim, begin, end - begin), dim) for begin, end in spans]
    return (ops.stack([values for values, _ in found], dim),
            ops.stack([indices + begin for (_, indices), (begin, _) in
                       zip(found, spans, strict=True)], dim))


# ---- windows at random places ----------------------------------------------------------------
def _random_starts(sample, size, kernel, windows):
    """``[batch, channels, windows]``: about evenly, shifted by the sample, the last at the end."""
    step = filled((), size - kernel, sample) / filled((), max(windows - 1, 1), sample)
    sample = sample.unsqueeze(-1)
    moved = (numbers(windows, sample.device).to(sample.dtype) + sample) * step
    starts = moved.to(dtypes["int64"]) - (sample * step).to(dtypes["int64"])
    last = numbers(windows, sample.device) == windows - 1
    return ops.where(last, size - kernel, starts)


def fractional_indices(x, samples, kernel_size, output_size):
    n = len(kernel_size)
    sizes, kernel, output = x.shape[-n:], each(kernel_size, n), each(output_size, n)
    flat = numbers(1, x.device).reshape([1] * (2 + 2 * n)).expand(*x.shape[:2], *[1] * (2 * n))
    for d in range(n):          # elements of each window: [batch, channels, *windows, *taps]
        drawn = samples.select(-1, n - 1 - d if n == 2 else d)
        starts = _random_starts(drawn, sizes[d], kernel[d], output[d])
        at = starts.unsqueeze(-1) + numbers(kernel[d], x.device)
        shape = [*x.shape[:2], *[1] * (2 * n)]
        shape[2 + d], shape[2 + n + d] = output[d], kernel[d]
        flat = flat * sizes[d] + at.reshape(shape)
    flat, area = flat.reshape(*x.shape[:2], *output, math.prod(kernel)), math.prod(output)
    planes = x.reshape(*x.shape[:2], math.prod(sizes))
    met = ops.gather(planes, -1, flat.reshape(*x.shape[:2], area * math.prod(kernel)))
    chosen = met.reshape(flat.shape).argmax(-1, True)
    return ops.gather(flat, -1, chosen).squeeze(-1)


