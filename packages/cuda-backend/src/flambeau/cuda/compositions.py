"""Rows composed of array calls, for CuPy on a GPU and NumPy in the tests.

Each function takes the array module first, then the row's arguments with tensors as arrays, and
returns the output or a tuple of them. What is not here answers NotImplemented.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.core import _core

Array = Any
_KERNELS: dict[str, Callable] = {}


def run_composition(xp, load, store, op, args, outs):
    """Compute a row.

    Args:
        xp: ``cupy``, or ``numpy``.
        load: Gives the values of a tensor as an array.
        store: Writes an array into a tensor.
        op: The row.
        args: Its arguments.
        outs: Its outputs.
    """
    if op.key not in _KERNELS:
        return NotImplemented

    def convert(value):
        if isinstance(value, (list, tuple)):
            return tuple(map(convert, value))
        return load(value) if _core.is_tensor(value) else value

    results = _KERNELS[op.key](xp, *map(convert, args))
    for out, result in zip(outs, results if isinstance(results, tuple) else (results,),
                           strict=True):
        store(out, result)
    return None


def _row(*keys: str):
    return lambda function: _KERNELS.update(dict.fromkeys(keys, function)) or function


# ---- products --------------------------------------------------------------------------------------


@_row("matmul")
def matmul(xp, a, b):
    return xp.matmul(a, b)


@_row("linear")
def linear(xp, x, weight, bias):
    product = xp.matmul(x, weight.T)
    return product if bias is None else product + bias


# ---- softmax and scans -----------------------------------------------------------------------------


def _real(xp, x, dtype):
    if dtype is not None or x.dtype.kind != "f":
        return x.astype("float64" if "64" in str(dtype) else "float32")
    return x


@_row("softmax")
def softmax(xp, x, dim, dtype):
    x = _real(xp, x, dtype)
    if x.size == 0:
        return x
    weights = xp.exp(x - x.max(dim, keepdims=True))
    return weights / weights.sum(dim, keepdims=True)


@_row("log_softmax")
def log_softmax(xp, x, dim, dtype):
    x = _real(xp, x, dtype)
    if x.size == 0:
        return x
    x = x - x.max(dim, keepdims=True)
    return x - xp.log(xp.exp(x).sum(dim, keepdims=True))


@_row("softmax_grad")
def softmax_grad(xp, grad, result, dim):
    return result * (grad - (grad * result).sum(dim, keepdims=True))


@_row("log_softmax_grad")
def log_softmax_grad(xp, grad, result, dim):
    return grad - xp.exp(result) * grad.sum(dim, keepdims=True)


@_row("cumsum")
def cumsum(xp, x, dim, dtype):
    whole = x.dtype.kind in "bui" and dtype is None
    return xp.cumsum(x.astype("int64") if whole else x, dim)


# ---- joining, picking, ordering ---------------------------------------------------------------------


@_row("cat")
def cat(xp, tensors, dim):
    parts = [t for t in tensors if t.shape != (0,)] or list(tensors)
    return xp.concatenate(parts, dim)


@_row("index_select")
def index_select(xp, x, dim, index):
    return xp.take(x, index, dim)


@_row("gather")
def gather(xp, x, dim, index):
    trimmed = tuple(slice(None) if d == dim % x.ndim else slice(n)
                    for d, n in enumerate(index.shape))
    return xp.take_along_axis(x[trimmed], index, dim)


@_row("index")
def index_(xp, x, indices):
    return x[tuple(slice(None) if i is None else i for i in indices)]


@_row("embedding_lookup")
def embedding_lookup(xp, weight, indices, padding_idx):
    return weight[indices]


@_row("masked_select")
def masked_select(xp, x, mask):
    x, mask = xp.broadcast_arrays(x, mask)
    return x[mask]


@_row("nonzero")
def nonzero(xp, x):
    return xp.argwhere(x)


@_row("flip")
def flip(xp, x, dims):
    return xp.flip(x, dims)


@_row("tril")
def tril(xp, x, diagonal):
    return xp.tril(x, diagonal)


@_row("triu")
def triu(xp, x, diagonal):
    return xp.triu(x, diagonal)


# ---- normalization ----------------------------------------------------------------------------------


@_row("native_layer_norm")
def native_layer_norm(xp, x, axes, weight, bias, eps):
    last = tuple(range(x.ndim - axes, x.ndim))
    mean = x.mean(last, keepdims=True)
    rstd = 1 / xp.sqrt(x.var(last, keepdims=True) + x.dtype.type(eps))
    result = (x - mean) * rstd
    result = result if weight is None else result * weight
    return result if bias is None else result + bias, mean, rstd


@_row("layer_norm_grad")
def layer_norm_grad(xp, grad, x, mean, rstd, weight, axes):
    last, rows = tuple(range(x.ndim - axes, x.ndim)), tuple(range(x.ndim - axes))
    centered = (x - mean) * rstd
    slope = grad if weight is None else grad * weight
    inner = (slope * centered).mean(last, keepdims=True)
    dx = rstd * (slope - slope.mean(last, keepdims=True) - centered * inner)
    return dx, (grad * centered).sum(rows), grad.sum(rows)


# ---- making ---------------------------------------------------------------------------------------


@_row("eye_of")
def eye_of(xp, n, m, dtype, device):
    return xp.eye(n, m)


@_row("arange_of")
def arange_of(xp, start, end, step, dtype, device):
    if dtype is not None and not dtype.is_floating_point:
        start, end, step = int(start), int(end), int(step)
    whole = all(isinstance(v, int) for v in (start, step))
    length = max(0, -((start - end) // step) if whole else _ceil((end - start) / step))
    return start + xp.arange(length, dtype="int64" if whole else "float64") * step


def _ceil(x: float) -> int:
    return -int(-x // 1)


@_row("linspace")
def linspace(xp, start, end, steps, dtype, device):
    return xp.linspace(start, end, steps)
