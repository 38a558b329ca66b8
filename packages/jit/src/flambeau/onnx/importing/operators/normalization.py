"""Normalizations."""

from __future__ import annotations

from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.reading import dtype_of
from flambeau.onnx.importing.table import Call, computes


@computes("BatchNormalization")
def batch_norm(call: Call, x: fl.Tensor, scale: fl.Tensor, bias: fl.Tensor, mean: fl.Tensor,
               var: fl.Tensor) -> Any:
    """Channels less their mean over their deviation; the given ones, or while training their own.

    The second and third outputs are the new running mean and variance.
    """
    eps = call.get("epsilon", 1e-5)
    if not (call.get("training_mode") or (call.opset < 7 and not call.get("is_test"))):
        return F.batch_norm(x, mean, var, scale, bias, False, 0.0, eps)
    axes = [0, *range(2, x.ndim)]
    momentum = call.get("momentum", 0.9)
    shape = (-1, *[1] * (x.ndim - 2))
    own_mean, own_var = x.mean(axes), x.var(axes, unbiased=False)
    y = (x - own_mean.reshape(shape)) / fl.sqrt(own_var.reshape(shape) + eps)
    return (y * scale.reshape(shape) + bias.reshape(shape),
            mean * momentum + own_mean * (1 - momentum), var * momentum + own_var * (1 - momentum))


@computes("InstanceNormalization")
def instance_norm(call: Call, x: fl.Tensor, scale: fl.Tensor, bias: fl.Tensor) -> fl.Tensor:
    """Each channel of each sample normalized."""
    return F.instance_norm(x, weight=scale, bias=bias, eps=call.get("epsilon", 1e-5))


@computes("GroupNormalization")
def group_norm(call: Call, x: fl.Tensor, scale: fl.Tensor, bias: fl.Tensor) -> fl.Tensor:
    """Groups of channels normalized."""
    groups = call.get("num_groups")
    if scale.shape[0] != x.shape[1]:
        scale = scale.repeat_interleave(x.shape[1] // groups)
        bias = bias.repeat_interleave(x.shape[1] // groups)
    return F.group_norm(x, groups, scale, bias, call.get("epsilon", 1e-5))


@computes("LayerNormalization")
def layer_norm(call: Call, x: fl.Tensor, scale: fl.Tensor, bias: fl.Tensor | None = None) -> Any:
    """Rows less their mean over their deviation; mean and inverse deviation are outputs too."""
    axis = call.get("axis", -1) % x.ndim
    eps = call.get("epsilon", 1e-5)
    rows = x.shape[axis:]
    y = F.layer_norm(x, rows, scale.expand(rows) if scale.shape != rows else scale,
                     bias if bias is None or bias.shape == rows else bias.expand(rows), eps)
    if not (call.wants(1) or call.wants(2)):
        return y
    axes = list(range(axis, x.ndim))
    wide = x.to(dtype_of(call.get("stash_type", 1)))
    mean = wide.mean(axes, keepdim=True)
    return y, mean, fl.rsqrt(wide.var(axes, unbiased=False, keepdim=True) + eps)


@computes("RMSNormalization")
def rms_norm(call: Call, x: fl.Tensor, scale: fl.Tensor) -> fl.Tensor:
    """Rows over their root mean square."""
    axes = list(range(call.get("axis", -1) % x.ndim, x.ndim))
    wide = x.to(dtype_of(call.get("stash_type", 1)))
    y = wide * fl.rsqrt((wide * wide).mean(axes, keepdim=True) + call.get("epsilon", 1e-5))
    return y.to(x.dtype) * scale


@computes("LRN")
def local_response_norm(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Channels over a power of the sum of squares of their neighbours."""
    size = call.get("size")
    before = (size - 1) // 2
    squares = F.pad((x * x).unsqueeze(1), [0, 0] * (x.ndim - 2) + [before, size - 1 - before])
    total = squares.squeeze(1).unfold(1, size, 1).sum(-1)
    alpha, beta, k = (call.get("alpha", 1e-4), call.get("beta", 0.75), call.get("bias", 1.0))
    return x / (total * (alpha / size) + k) ** beta


@computes("LpNormalization")
def lp_norm(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Rows over their norm; rows of zeros stay."""
    axis = call.get("axis", -1)
    size = fl.abs(x).sum(axis, keepdim=True) if call.get("p", 2) == 1 else fl.sqrt(
        (x * x).sum(axis, keepdim=True))
    return fl.where(size == 0, fl.zeros_like(x), x / size)


@computes("MeanVarianceNormalization")
def mean_variance_norm(call: Call, x: fl.Tensor) -> fl.Tensor:
    """Elements less their mean over their deviation."""
    axes = call.get("axes", [0, 2, 3])
    y = x - x.mean(axes, keepdim=True)
    return y / (fl.sqrt((y * y).mean(axes, keepdim=True)) + 1e-9)


@computes("GlobalAveragePool")
def global_average(call: Call, x: fl.Tensor) -> fl.Tensor:
    """The mean of each channel."""
    return x.mean(list(range(2, x.ndim)), keepdim=True)


@computes("GlobalMaxPool")
def global_max(call: Call, x: fl.Tensor) -> fl.Tensor:
    """The greatest element of each channel."""
    return x.amax(list(range(2, x.ndim)), keepdim=True)


@computes("GlobalLpPool")
def global_lp(call: Call, x: fl.Tensor) -> fl.Tensor:
    """The norm of each channel."""
    p = call.get("p", 2)
    return (fl.abs(x) ** p).sum(list(range(2, x.ndim)), keepdim=True) ** (1 / p)
