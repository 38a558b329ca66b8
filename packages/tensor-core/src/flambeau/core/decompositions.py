"""Operators in terms of others, for devices whose backend has no kernel for them.

A function has the operator's name (``name__overload``) and takes its parameters in order. It runs
on the device, with the operators that the backend has; what it returns is converted to the dtype
of the results. Definitions name what is here by ``decomposes=True``. None of these needs another
one of a higher line, so that arithmetic, reductions, ``matmul``, ``where``, ``cumsum``,
``gather``, ``index_put`` and copies carry them all.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core import _core, ops
from flambeau.core.dtypes import dtypes

_HALF = (dtypes["float16"], dtypes["bfloat16"])


def decomposition(key: str) -> Callable[..., Any] | None:
    """The function for an operator, or None.

    Args:
        key: the operator, ``name`` or ``name.overload``.

    Example:
        >>> decomposition("log_softmax").__name__
        'log_softmax'
        >>> decomposition("conv2d") is None
        True
    """
    found = globals().get(key.replace(".", "__"))
    return found if getattr(found, "__module__", "") == __name__ and found is not decomposition \
        and not key.startswith("_") else None


def _wide(x):
    """Half precision as float32, so that several roundings are one."""
    return x.to(dtypes["float32"]) if x is not None and x.dtype in _HALF else x


# ---- matmul ------------------------------------------------------------------------------------
def linear(x, weight, bias):
    product = ops.matmul(x, weight.t())
    return product if bias is None else product + bias


# ---- reduce ------------------------------------------------------------------------------------
def _floating(x, dtype):
    return _wide(x if dtype is None else x.to(dtype))


def softmax(x, dim, dtype):
    x = _floating(x, dtype)
    weights = x if not x.numel() else (x - x.amax(dim, True)).exp()
    return weights / weights.sum(dim, True)


def log_softmax(x, dim, dtype):
    x = _floating(x, dtype)
    x = x if not x.numel() else x - x.amax(dim, True)
    return x - x.exp().sum(dim, True).log()


def softmax_grad(grad, result, dim):
    grad, result = _wide(grad), _wide(result)
    return result * (grad - (grad * result).sum(dim, True))


def log_softmax_grad(grad, result, dim):
    grad, result = _wide(grad), _wide(result)
    return grad - result.exp() * grad.sum(dim, True)


def nansum(x, dim, keepdim, dtype):
    return ops.where(x.isnan(), 0, x).sum(dim, keepdim, dtype=dtype)


def std(x, dim, correction, keepdim):
    return ops.sqrt(ops.var(_wide(x), dim, correction=correction, keepdim=keepdim))


# ---- shape -------------------------------------------------------------------------------------
def flip(x, dims):
    for dim in dims:
        if x.ndim:
            backwards = x.shape[dim] - 1 - _count(x, dim)
            x = ops.index(x, [None] * (dim % x.ndim) + [backwards])
    return x


def _count(like, dim):
    """The numbers of the elements along a dimension."""
    return ops.arange_of(0, like.shape[dim], 1, dtype=dtypes["int64"], device=like.device)


def _band(x, diagonal):
    """How far each element lies right of a diagonal."""
    return _count(x, -1) - _count(x, -2).unsqueeze(-1) - diagonal


def tril(x, diagonal):
    return ops.where(_band(x, diagonal) <= 0, x, ops.full_of((), 0, dtype=x.dtype,
                                                             device=x.device))


def triu(x, diagonal):
    return ops.where(_band(x, diagonal) >= 0, x, ops.full_of((), 0, dtype=x.dtype,
                                                             device=x.device))


def constant_pad_nd(x, pad, value):
    """Negative widths cut."""
    before = [0] * (x.ndim - len(pad) // 2) + list(pad[-2::-2])
    after = [0] * (x.ndim - len(pad) // 2) + list(pad[-1::-2])
    shape = [n + b + a for n, b, a in zip(x.shape, before, after, strict=True)]
    result = ops.full_of(shape, value, dtype=x.dtype, device=x.device)
    target = result
    for dim, (b, a) in enumerate(zip(before, after, strict=True)):
        length = x.shape[dim] + min(b, 0) + min(a, 0)
        x = x.narrow(dim, max(-b, 0), length)
        target = target.narrow(dim, max(b, 0), length)
    ops.copy_(target, x)
    return result


# ---- index -------------------------------------------------------------------------------------
def index_copy(x, dim, index, source):
    if not x.ndim:
        return source.reshape(())
    positions = [None] * (dim % x.ndim) + [index.reshape(-1)]
    return ops.index_put(x, positions, source.reshape(*x.shape[:dim % x.ndim], -1,
                                                   *x.shape[dim % x.ndim + 1:]))


def index_fill(x, dim, index, value):
    if not x.ndim:
        return ops.add(ops.mul(x, 0), value) if index.numel() else x
    if not _core.is_tensor(value):
        value = ops.full_of((), value, dtype=x.dtype, device=x.device)
    return ops.index_put(x, [None] * (dim % x.ndim) + [index.reshape(-1)], value.to(x.dtype))


def one_hot_rows(x, num_classes):
    classes = ops.arange_of(0, num_classes, 1, dtype=dtypes["int64"], device=x.device)
    return x.unsqueeze(-1) == classes


def embedding_lookup(weight, indices, padding_idx, scale_grad_by_freq):
    return ops.index(weight, [indices])


def masked_scatter(x, mask, source):
    shape = ops.where(mask, x, x).shape
    mask = mask.expand(shape).reshape(-1)
    if not source.numel():
        return x.expand(shape)
    positions = (mask.cumsum(0) - 1).clamp(0, source.numel() - 1)
    picked = ops.gather(source.reshape(-1), 0, positions)
    return ops.where(mask, picked, x.expand(shape).reshape(-1)).reshape(shape)


# ---- norm --------------------------------------------------------------------------------------
def native_layer_norm(x, axes, weight, bias, eps):
    x, last = _wide(x), tuple(range(x.ndim - axes, x.ndim))
    mean = x.mean(last, True)
    rstd = (ops.var(x, last, correction=0, keepdim=True) + eps).rsqrt()
    result = (x - mean) * rstd
    result = result if weight is None else result * weight
    return result if bias is None else result + bias, mean, rstd


def layer_norm_grad(grad, x, mean, rstd, weight, axes):
    last, rows = tuple(range(x.ndim - axes, x.ndim)), tuple(range(x.ndim - axes))
    grad, x = _wide(grad), _wide(x)
    centered = (x - mean) * rstd
    slope = grad if weight is None else grad * weight
    inner = (slope * centered).mean(last, True)
    by_input = rstd * (slope - slope.mean(last, True) - centered * inner)
    if not rows:
        return by_input, grad * centered, grad
    return by_input, (grad * centered).sum(rows), grad.sum(rows)
