"""Normalization."""
from __future__ import annotations

import math

from flambeau.core import ops
from flambeau.core.decompositions.shared import wide


def native_layer_norm(x, axes, weight, bias, eps):
    x, last = wide(x), tuple(range(x.ndim - axes, x.ndim))
    mean = x.mean(last, True)
    rstd = (ops.var(x, last, correction=0, keepdim=True) + eps).rsqrt()
    result = (x - mean) * rstd
    result = result if weight is None else result * weight
    return result if bias is None else result + bias, mean, rstd


def layer_norm_grad(grad, x, mean, rstd, weight, axes):
    last, rows = tuple(range(x.ndim - axes, x.ndim)), tuple(range(x.ndim - axes))
    grad, x = wide(grad), wide(x)
    centered = (x - mean) * rstd
    slope = grad if weight is None else grad * weight
    inner = (slope * centered).mean(last, True)
    by_input = rstd * (slope - slope.mean(last, True) - centered * inner)
    if not rows:
        return by_input, grad * centered, grad
    return by_input, (grad * centered).sum(rows), grad.sum(rows)


def native_rms_norm(x, axes, weight, eps):
    x = wide(x)
    rstd = ((x * x).mean(tuple(range(-axes, 0)), True) + eps).rsqrt()
    return x * rstd if weight is None else x * rstd * weight, rstd


def rms_norm_grad(grad, x, rstd, weight, axes, eps):
    """Of grad, x and weight alone, so that it has a derivative."""
    grad, x, last, rows = wide(grad), wide(x), tuple(range(-axes, 0)), tuple(range(x.ndim - axes))
    rstd = ((x * x).mean(last, True) + eps).rsqrt()
    normal, slope = x * rstd, grad if weight is None else grad * weight
    by_weight = grad * normal
    return (rstd * (slope - normal * (slope * normal).mean(last, True)),
            by_weight.sum(rows) if rows else by_weight)


# ---- batches and groups --------------------------------------------------------------------------
def _channels(values, x):
    return values.reshape(-1, *[1] * (x.ndim - 2))


def _rest(x):
    return [d for d in range(x.ndim) if d != 1]


def _statistics(x, running_mean, running_var, training, momentum):
    """Mean and variance to normalize with; the running ones move when training."""
    if not training:
        return wide(running_mean), wide(running_var)
    mean, var = x.mean(_rest(x)), ops.var(x, _rest(x), correction=0)
    n = x.numel() // max(x.shape[1], 1)
    for running, now in ((running_mean, mean), (running_var, var * (n / max(n - 1, 1)))):
        if running is not None:
            ops.copy_(running, wide(running) * (1 - momentum) + now * momentum)
    return mean, var


def native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    x = wide(x)
    mean, var = _statistics(x, running_mean, running_var, training, momentum)
    rstd = (var + eps).rsqrt()
    result = (x - _channels(mean, x)) * _channels(rstd, x)
    result = result if weight is None else result * _channels(wide(weight), x)
    return result if bias is None else result + _channels(wide(bias), x), mean, rstd


def batch_norm_grad(grad, x, weight, mean, rstd, training):
    grad, x, weight = wide(grad), wide(x), wide(weight)
    mean, rstd, n = wide(mean), wide(rstd), x.numel() // max(x.shape[1], 1)
    centered = (x - _channels(mean, x)) * _channels(rstd, x)
    by_weight, by_bias = (grad * centered).sum(_rest(x)), grad.sum(_rest(x))
    if training:
        grad = grad - (_channels(by_bias, x) + centered * _channels(by_weight, x)) / n
    scale = rstd if weight is None else rstd * weight
    return grad * _channels(scale, x), by_weight, by_bias


def _grouped(x, groups):
    return x.reshape(x.shape[0], groups, math.prod(x.shape[1:]) // groups)


def native_group_norm(x, weight, bias, groups, eps):
    x = wide(x)
    rows = _grouped(x, groups)
    mean = rows.mean(-1)
    rstd = (ops.var(rows, -1, correction=0) + eps).rsqrt()
    result = ((rows - mean.unsqueeze(-1)) * rstd.unsqueeze(-1)).reshape(x.shape)
    result = result if weight is None else result * _channels(wide(weight), x)
    return result if bias is None else result + _channels(wide(bias), x), mean, rstd


def group_norm_grad(grad, x, weight, mean, rstd, groups):
    grad, x = wide(grad), wide(x)
    mean, rstd = wide(mean).unsqueeze(-1), wide(rstd).unsqueeze(-1)
    centered = (_grouped(x, groups) - mean) * rstd
    slope = _grouped(grad if weight is None else grad * _channels(wide(weight), x), groups)
    inner = (slope * centered).mean(-1, True)
    by_input = rstd * (slope - slope.mean(-1, True) - centered * inner)
    return (by_input.reshape(x.shape), (grad * centered.reshape(x.shape)).sum(_rest(x)),
            grad.sum(_rest(x)))
