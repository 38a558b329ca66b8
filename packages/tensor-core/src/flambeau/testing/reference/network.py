"""Normalization, embedding and losses, with NumPy."""
from __future__ import annotations

import numpy as np

from flambeau.testing import arrays
from flambeau.testing.reference.kernels import kernel, raw_kernel


def _last(x, axes):
    return tuple(range(x.ndim - axes, x.ndim))


@kernel("native_layer_norm")
def native_layer_norm(x, axes, weight, bias, eps):
    along, x = _last(x, axes), x.astype(np.float64)
    mean = x.mean(along, keepdims=True)
    rstd = 1 / np.sqrt(x.var(along, keepdims=True) + eps)
    result = (x - mean) * rstd
    result = result if weight is None else result * weight
    return result if bias is None else result + bias, mean, rstd


@kernel("layer_norm_grad")
def layer_norm_grad(grad, x, mean, rstd, weight, axes):
    along = _last(x, axes)
    grad, x = grad.astype(np.float64), x.astype(np.float64)
    centered = (x - mean) * rstd
    slope = grad if weight is None else grad * weight
    inner = (slope * centered).mean(along, keepdims=True)
    dx = rstd * (slope - slope.mean(along, keepdims=True) - centered * inner)
    rows = tuple(range(x.ndim - axes))
    return dx, (grad * centered).sum(rows), grad.sum(rows)


def _channels(values, x):
    return values.reshape(-1, *(1,) * (x.ndim - 2))


@raw_kernel("native_batch_norm")
def native_batch_norm(args, outs):
    x = arrays.load(args[0]).astype(np.float64)
    weight, bias = (None if t is None else arrays.load(t) for t in args[1:3])
    mean, var = _statistics(x, args)
    rstd = 1 / np.sqrt(var + args[7])
    result = (x - _channels(mean, x)) * _channels(rstd, x)
    result = result if weight is None else result * _channels(weight, x)
    result = result if bias is None else result + _channels(bias, x)
    for out, values in zip(outs, (result, mean, rstd), strict=True):
        arrays.store(out, values)


def _statistics(x, args):
    """Mean and variance to normalize with; the running ones move when training."""
    running_mean, running_var, training, momentum = args[3:7]
    if not training:
        return (arrays.load(t).astype(np.float64) for t in (running_mean, running_var))
    rest = tuple(d for d in range(x.ndim) if d != 1)
    mean, var, n = x.mean(rest), x.var(rest), x.size // max(x.shape[1], 1)
    for running, now in ((running_mean, mean), (running_var, var * n / max(n - 1, 1))):
        if running is not None:
            arrays.store(running, (1 - momentum) * arrays.load(running) + momentum * now)
    return mean, var


@kernel("batch_norm_grad")
def batch_norm_grad(grad, x, weight, mean, rstd, training):
    grad, x = grad.astype(np.float64), x.astype(np.float64)
    rest = tuple(d for d in range(x.ndim) if d != 1)
    centered = (x - _channels(mean, x)) * _channels(rstd, x)
    dw, db = (grad * centered).sum(rest), grad.sum(rest)
    n = x.size // max(x.shape[1], 1)
    if training:
        grad = grad - (_channels(db, x) + centered * _channels(dw, x)) / n
    scale = rstd if weight is None else rstd * weight
    return grad * _channels(scale, x), dw, db


@kernel("amp_unscale")
def amp_unscale(x, factor):
    return x * factor, ~np.isfinite(x).all()


@kernel("embedding_lookup")
def embedding_lookup(weight, indices, padding_idx, scale_grad_by_freq):
    return weight[indices]


@kernel("embedding_grad")
def embedding_grad(grad, indices, rows, padding_idx):
    result = np.zeros((rows, grad.shape[-1]), np.float64)
    kept = indices != padding_idx
    np.add.at(result, indices[kept], grad[kept])
    return result


def _picked(x, target, ignore):
    """Index of each row's target, and the rows that count."""
    counts = target != ignore
    classes = 1 if x.ndim > 1 else 0
    safe = np.where(counts, target, 0)
    return np.expand_dims(safe, classes), counts, classes


def _row_weights(weight, target, counts):
    safe = np.where(counts, target, 0)
    return np.where(counts, 1.0 if weight is None else weight[safe], 0.0)


@kernel("nll_loss_rows")
def nll_loss_rows(x, target, weight, reduction, ignore):
    index, counts, classes = _picked(x, target, ignore)
    weights = _row_weights(weight, target, counts)
    picked = np.take_along_axis(x.astype(np.float64), index, classes).squeeze(classes)
    loss, total = -picked * weights, weights.sum()
    if reduction == 0:
        return loss, total
    return (loss.sum() / total if reduction == 1 else loss.sum()), total


@kernel("nll_loss_grad")
def nll_loss_grad(grad, x, target, weight, reduction, ignore, total):
    index, counts, classes = _picked(x, target, ignore)
    share = -_row_weights(weight, target, counts) * grad / (total if reduction == 1 else 1)
    result = np.zeros(x.shape, np.float64)
    np.put_along_axis(result, index, np.expand_dims(share, classes), classes)
    return result
