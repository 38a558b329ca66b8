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


def _order(xp, x, dim, descending):
    """Stable order along a dimension; of equal values the first comes first, both ways."""
    if not descending:
        return xp.argsort(x, dim, kind="stable")
    back = xp.argsort(xp.flip(x, dim), dim, kind="stable")
    return xp.flip(x.shape[dim] - 1 - back, dim)


@_row("sort")
def sort(xp, x, dim, descending, stable):
    order = _order(xp, xp.atleast_1d(x), dim, descending)
    values = xp.take_along_axis(xp.atleast_1d(x), order, dim)
    return values.reshape(x.shape), order.reshape(x.shape)


@_row("topk")
def topk(xp, x, k, dim, largest, is_sorted):
    order = xp.take(_order(xp, x, dim, largest), xp.arange(k), dim)
    return xp.take_along_axis(x, order, dim), order


@_row("one_hot")
def one_hot(xp, x, classes):
    return x[..., None] == xp.arange(int(x.max()) + 1 if classes < 0 else classes)


# ---- writing by index -------------------------------------------------------------------------------


def _added(xp, x, places, values):
    """``x[places] += values``, counting repeated places."""
    result = x.copy()
    xp.add.at(result, places, values)
    return result


def _mesh(xp, index, dim):
    """Places of the elements that an index names along one dimension."""
    shapes = [[-1 if e == d else 1 for e in range(index.ndim)] for d in range(index.ndim)]
    places = [xp.arange(n).reshape(s) for n, s in zip(index.shape, shapes, strict=True)]
    places[dim] = index
    return tuple(places)


@_row("index_add")
def index_add(xp, x, dim, index, source, alpha):
    places = (slice(None),) * (dim % x.ndim) + (index,)
    return _added(xp, x, places, source * x.dtype.type(alpha))


@_row("scatter_add")
def scatter_add(xp, x, dim, index, src):
    return _added(xp, x, _mesh(xp, index, dim), src[tuple(slice(n) for n in index.shape)])


@_row("scatter.src", "scatter.value")
def scatter(xp, x, dim, index, src):
    result = x.copy()
    part = src if not hasattr(src, "shape") else src[tuple(slice(n) for n in index.shape)]
    result[_mesh(xp, index, dim)] = part
    return result


@_row("index_put")
def index_put(xp, x, indices, values, accumulate):
    places = tuple(slice(None) if i is None else i for i in indices)
    if accumulate:
        return _added(xp, x, places, values)
    result = x.copy()
    result[places] = values
    return result


@_row("embedding_grad")
def embedding_grad(xp, grad, indices, rows, padding_idx):
    kept = (indices != padding_idx)[..., None]
    total = xp.zeros((rows, grad.shape[-1]), grad.dtype)
    return _added(xp, total, indices, xp.where(kept, grad, 0).astype(grad.dtype))


# ---- losses -----------------------------------------------------------------------------------------


def _rows_of(xp, x, target, weight, ignore):
    """Class dimension, targets to read, and the weight of every row."""
    counts = target != ignore
    safe = xp.where(counts, target, 0)
    weights = xp.where(counts, x.dtype.type(1) if weight is None else weight[safe], 0)
    return (1 if x.ndim > 1 else 0), safe, weights.astype(x.dtype)


@_row("nll_loss_rows")
def nll_loss_rows(xp, x, target, weight, reduction, ignore):
    classes, safe, weights = _rows_of(xp, x, target, weight, ignore)
    picked = xp.take_along_axis(x, xp.expand_dims(safe, classes), classes).squeeze(classes)
    loss, total = -picked * weights, weights.sum()
    if reduction == 0:
        return loss, total
    return (loss.sum() / total if reduction == 1 else loss.sum()), total


@_row("nll_loss_grad")
def nll_loss_grad(xp, grad, x, target, weight, reduction, ignore, total):
    classes, safe, weights = _rows_of(xp, x, target, weight, ignore)
    share = xp.expand_dims(-weights * grad / (total if reduction == 1 else 1), classes)
    numbers = xp.arange(x.shape[classes]).reshape([-1] + [1] * (x.ndim - classes - 1))
    return xp.where(xp.expand_dims(safe, classes) == numbers, share, 0)


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
