"""Normalization and losses."""
from __future__ import annotations

import math

from flambeau.autograd._moments import standardized
from flambeau.autograd.transforms.batching.basics import align, call, front, fronts
from flambeau.autograd.transforms.batching.loop import loop
from flambeau.autograd.transforms.stack import is_differentiated
from flambeau.core.decompositions.shared import wide

__all__ = ["LAYER_RULES"]


# ---- layers ------------------------------------------------------------------------------------
def _layer_norm(level, op, args, flags, seen):
    x, axes, weight, bias, eps = args
    if not flags[2] and not flags[3]:
        return call(op, args)
    x = front(x, flags[0], level.size)
    result, mean, rstd = call(op, (x, axes, None, None, eps))
    rank = seen[0].ndim
    return _affine(result, weight, bias, flags[2:4], rank), mean, rstd


def _affine(x, weight, bias, flags, rank):
    """``x * weight + bias`` along the last of the ``rank`` dimensions that the function sees."""
    if weight is not None:
        x = call("mul", (x, align(weight, rank) if flags[0] else weight))
    if bias is not None:
        x = call("add", (x, align(bias, rank) if flags[1] else bias))
    return x


def _layer_norm_grad(level, op, args, flags, seen):
    *tensors, axes = args
    grad, x, mean, rstd = [front(t, f, level.size) for t, f in zip(tensors[:4], flags[:4],
                                                                  strict=True)]
    weight, rank = tensors[4], seen[1].ndim
    scaled = grad if weight is None else call(
        "mul", (grad, align(weight, rank) if flags[4] else weight))
    by_input = call(op, (scaled, x, mean, rstd, None, axes))[0]
    shape = [*x.shape[:x.ndim - axes], *[1] * axes]
    xhat = standardized(x, tuple(range(-axes, 0)), mean.reshape(shape), rstd.reshape(shape),
                        is_differentiated())
    lead = list(range(1, rank - axes + 1))
    return by_input, _sum(grad * xhat, lead), _sum(grad, lead)


def _sum(x, dims):
    return call("sum", (x, dims)) if dims else x


# ---- groups ------------------------------------------------------------------------------------
def _over_channels(value, flag, rank):
    """A value per channel, to be broadcast over [batch, samples, channels, ...]."""
    shape = [1, -1, *[1] * (rank - 2)]
    return value.reshape([value.shape[0], *shape] if flag else shape)


def _group_norm(level, op, args, flags, seen):
    x, weight, bias, groups, eps = args
    x = front(x, flags[0], level.size)
    rank, count = seen[0].ndim, x.shape[1]
    shared = not flags[1] and not flags[2]
    rows = x.flatten(0, 1)
    results = call(op, (rows, weight if shared else None, bias if shared else None, groups, eps))
    result, mean, rstd = [r.reshape(level.size, count, *r.shape[1:]) for r in results]
    if not shared and weight is not None:
        result = result * _over_channels(weight, flags[1], rank)
    if not shared and bias is not None:
        result = result + _over_channels(bias, flags[2], rank)
    return result, mean, rstd


def _group_norm_grad(level, op, args, flags, seen):
    grad, x, weight, mean, rstd, groups = args
    grad, x = front(grad, flags[0], level.size), front(x, flags[1], level.size)
    mean, rstd = front(mean, flags[3], level.size), front(rstd, flags[4], level.size)
    rank, count = seen[1].ndim, x.shape[1]
    scaled = grad if weight is None else grad * _over_channels(weight, flags[2], rank)
    rows = [t.flatten(0, 1) for t in (scaled, x, mean, rstd)]
    by_input = call(op, (rows[0], rows[1], None, rows[2], rows[3], groups))[0]
    by_input = by_input.reshape(x.shape)
    sizes = [level.size, count, groups, 1]
    grouped = x.reshape(level.size, count, groups, math.prod(x.shape[2:]) // groups)
    xhat = standardized(grouped, (-1,), mean.reshape(sizes), rstd.reshape(sizes),
                        is_differentiated()).reshape(x.shape)
    rest = [1, *range(3, x.ndim)]
    return by_input, _sum(grad * xhat, rest), _sum(grad, rest)


# ---- batches: each sample's channels are channels of their own ---------------------------------
def _joined(x):
    """[batch, samples, channels, ...] as [samples, batch * channels, ...]."""
    x = call("transpose", (x, 0, 1))
    return x.reshape(x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:])


def _parted(x, size):
    x = x.reshape(x.shape[0], size, x.shape[1] // size, *x.shape[2:])
    return call("transpose", (x, 0, 1))


def _flat(value, flag, size):
    return None if value is None else front(value, flag, size).reshape(-1)


def _batch_norm(level, op, args, flags, seen):
    x, weight, bias, mean, var, training, momentum, eps = args
    size = level.size
    _check_running(mean, flags[0] and not flags[3], training)
    statistics = [_flat(mean, flags[3], size), _flat(var, flags[4], size)]
    before = [s.clone() if s is not None and training else s for s in statistics]
    result, mean_now, rstd = call(op, (
        _joined(front(x, flags[0], size)), _flat(weight, flags[1], size),
        _flat(bias, flags[2], size), *before, training, momentum, eps))
    for running, new, own in zip((mean, var), before, flags[3:5], strict=True):
        if running is not None and training:
            rows = new.reshape(size, -1)        # alike where all samples share the statistics
            # into memory that the function may have captured, as the operator itself does
            call("clone", (rows if own else call("select", (rows, 0, 0)),), [running])
    return _parted(result, size), mean_now.reshape(size, -1), rstd.reshape(size, -1)


def _check_running(mean, differs, training) -> None:
    if mean is not None and differs and training:
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, "
            "which will be updated in place, were not batched: each sample would write its own "
            "statistics into the same memory. Set track_running_stats=False, put the module into "
            "eval(), use GroupNorm, or batch the buffers with stack_module_state()")


def _batch_norm_grad(level, op, args, flags, seen):
    grad, x, weight, mean, rstd, training = args
    size = level.size
    by_input, by_weight, by_bias = call(op, (
        _joined(front(grad, flags[0], size)), _joined(front(x, flags[1], size)),
        _flat(weight, flags[2], size), _flat(mean, flags[3], size), _flat(rstd, flags[4], size),
        training))
    return _parted(by_input, size), by_weight.reshape(size, -1), by_bias.reshape(size, -1)


# ---- negative log likelihood -------------------------------------------------------------------
_NONE, _MEAN = 0, 1


def _nll_parts(level, x, target, weight, ignore_index, flags, rank):
    """Classes that count (others as 0), their weights, wide for halves, and the dim of classes."""
    dim = 1 if rank == 1 else 2
    target = front(target, flags[1], level.size)
    ignored = target == ignore_index
    chosen = call("where", (ignored, 0, target))
    if weight is None:
        weights = call("filled_like", (chosen, 1.0, x.dtype))
    else:
        weights = call("index_select", (weight, 0, chosen.reshape(-1))).reshape(chosen.shape)
    return chosen, wide(call("where", (ignored, 0, weights))), dim


def _nll_rows(level, op, args, flags, seen):
    x, target, weight, reduction, ignore_index = args
    if flags[2]:
        return loop(level, op, args, flags, seen)
    x = front(x, flags[0], level.size)
    chosen, weights, dim = _nll_parts(level, x, target, weight, ignore_index, flags, seen[0].ndim)
    picked = call("gather", (x, dim, call("unsqueeze", (chosen, dim))))
    losses = call("neg", (wide(call("squeeze", (picked, [dim]))) * weights,))
    dims = list(range(1, losses.ndim))
    total = _sum(weights, dims)
    if reduction == _NONE:
        return losses.to(x.dtype), total
    result = _sum(losses, dims)
    return (result / total if reduction == _MEAN else result).to(x.dtype), total


def _nll_grad(level, op, args, flags, seen):
    grad, x, target, weight, reduction, ignore_index, total = args
    if flags[3]:
        return loop(level, op, args, flags, seen)
    x = front(x, flags[1], level.size)
    chosen, weights, dim = _nll_parts(level, x, target, weight, ignore_index, flags[1:],
                                      seen[1].ndim)
    grad = front(grad, flags[0], level.size)
    if reduction == _MEAN:
        grad = grad / front(total, flags[6], level.size)
    if reduction != _NONE:
        grad = align(grad, weights.ndim - 1)
    values = call("unsqueeze", (call("neg", (grad * weights,)).to(x.dtype), dim))
    start = call("filled_like", (x, 0, None))
    return call("scatter.src", (start, dim, call("unsqueeze", (chosen, dim)), values))


# ---- searching ---------------------------------------------------------------------------------
def _searchsorted(level, op, args, flags, seen):
    sequence, values, *rest = args
    if rest[-1] is not None or not hasattr(values, "ndim"):
        return loop(level, op, args, flags, seen)
    if not flags[0] and seen[0].ndim == 1:
        return call(op, args)
    sequence, values = fronts(level, (sequence, values), flags[:2])
    if seen[0].ndim == 1:
        found = call(op, (sequence, values.reshape(level.size, -1), *rest))
        return found.reshape(values.shape)
    return call(op, (sequence, values, *rest))


def _bucketize(level, op, args, flags, seen):
    if flags[1]:
        return loop(level, op, args, flags, seen)
    return call(op, args)


LAYER_RULES = {
    "native_layer_norm": _layer_norm, "layer_norm_grad": _layer_norm_grad,
    "native_group_norm": _group_norm, "group_norm_grad": _group_norm_grad,
    "native_batch_norm": _batch_norm, "batch_norm_grad": _batch_norm_grad,
    "nll_loss_rows": _nll_rows, "nll_loss_grad": _nll_grad,
    "searchsorted": _searchsorted, "bucketize": _bucketize,
}
