"""Rows that join, pick, order and write by index, and losses: array calls of CuPy or NumPy."""
from __future__ import annotations

from flambeau.cuda.arrays.compositions import kernel_of

# ---- joining, picking, ordering --------------------------------------------------------------


@kernel_of("cat")
def cat(xp, tensors, dim):
    parts = [t for t in tensors if t.shape != (0,)] or list(tensors)
    return xp.concatenate(parts, dim)


@kernel_of("index_select")
def index_select(xp, x, dim, index):
    return xp.take(x, index, dim)


@kernel_of("gather")
def gather(xp, x, dim, index):
    trimmed = tuple(slice(None) if d == dim % x.ndim else slice(n)
                    for d, n in enumerate(index.shape))
    return xp.take_along_axis(x[trimmed], index, dim)


@kernel_of("index")
def index_(xp, x, indices):
    return x[tuple(slice(None) if i is None else i for i in indices)]


@kernel_of("embedding_lookup")
def embedding_lookup(xp, weight, indices, padding_idx, scale_grad_by_freq):
    return weight[indices]


@kernel_of("masked_select")
def masked_select(xp, x, mask):
    x, mask = xp.broadcast_arrays(x, mask)
    return x[mask]


@kernel_of("nonzero")
def nonzero(xp, x):
    return xp.argwhere(x)


@kernel_of("flip")
def flip(xp, x, dims):
    return xp.flip(x, dims)


@kernel_of("tril")
def tril(xp, x, diagonal):
    return xp.tril(x, diagonal)


@kernel_of("triu")
def triu(xp, x, diagonal):
    return xp.triu(x, diagonal)


def _order(xp, x, dim, descending):
    """Stable order along a dimension; of equal values the first comes first, both ways."""
    if not descending:
        return xp.argsort(x, dim, kind="stable")
    back = xp.argsort(xp.flip(x, dim), dim, kind="stable")
    return xp.flip(x.shape[dim] - 1 - back, dim)


@kernel_of("sort")
def sort(xp, x, dim, descending, stable):
    order = _order(xp, xp.atleast_1d(x), dim, descending)
    values = xp.take_along_axis(xp.atleast_1d(x), order, dim)
    return values.reshape(x.shape), order.reshape(x.shape)


@kernel_of("topk")
def topk(xp, x, k, dim, largest, is_sorted):
    order = xp.take(_order(xp, x, dim, largest), xp.arange(k), dim)
    return xp.take_along_axis(x, order, dim), order


@kernel_of("one_hot_rows")
def one_hot_rows(xp, x, classes):
    return x[..., None] == xp.arange(classes)


# ---- writing by index ------------------------------------------------------------------------


def _added(xp, x, positions, values):
    """``x[positions] += values``, counting repeated positions."""
    result = x.copy()
    xp.add.at(result, positions, values)
    return result


def _mesh(xp, index, dim):
    """Positions of the elements that an index names along one dimension."""
    shapes = [[-1 if e == d else 1 for e in range(index.ndim)] for d in range(index.ndim)]
    positions = [xp.arange(n).reshape(s) for n, s in zip(index.shape, shapes, strict=True)]
    positions[dim] = index
    return tuple(positions)


@kernel_of("index_add")
def index_add(xp, x, dim, index, source, alpha):
    positions = (slice(None),) * (dim % x.ndim) + (index,)
    return _added(xp, x, positions, source * x.dtype.type(alpha))


@kernel_of("scatter_add")
def scatter_add(xp, x, dim, index, src):
    return _added(xp, x, _mesh(xp, index, dim), src[tuple(slice(n) for n in index.shape)])


@kernel_of("scatter.src", "scatter.value")
def scatter(xp, x, dim, index, src):
    result = x.copy()
    part = src if not hasattr(src, "shape") else src[tuple(slice(n) for n in index.shape)]
    result[_mesh(xp, index, dim)] = part
    return result


@kernel_of("index_put")
def index_put(xp, x, indices, values, accumulate):
    positions = tuple(slice(None) if i is None else i for i in indices)
    if accumulate:
        return _added(xp, x, positions, values)
    result = x.copy()
    result[positions] = values
    return result


@kernel_of("embedding_grad")
def embedding_grad(xp, grad, indices, rows, padding_idx):
    kept = (indices != padding_idx)[..., None]
    total = xp.zeros((rows, grad.shape[-1]), grad.dtype)
    return _added(xp, total, indices, xp.where(kept, grad, 0).astype(grad.dtype))


# ---- losses ----------------------------------------------------------------------------------


def _rows_of(xp, x, target, weight, ignore):
    """Class dimension, targets to read, and the weight of every row, wide for halves."""
    counts = target != ignore
    safe = xp.where(counts, target, 0)
    weights = xp.where(counts, x.dtype.type(1) if weight is None else weight[safe], 0)
    wide = "float64" if x.dtype == "float64" else "float32"
    return (1 if x.ndim > 1 else 0), safe, weights.astype(wide)


@kernel_of("nll_loss_rows")
def nll_loss_rows(xp, x, target, weight, reduction, ignore):
    classes, safe, weights = _rows_of(xp, x, target, weight, ignore)
    picked = xp.take_along_axis(x, xp.expand_dims(safe, classes), classes).squeeze(classes)
    loss, total = -picked * weights, weights.sum()
    if reduction == 0:
        return loss, total
    return (loss.sum() / total if reduction == 1 else loss.sum()), total


@kernel_of("nll_loss_grad")
def nll_loss_grad(xp, grad, x, target, weight, reduction, ignore, total):
    classes, safe, weights = _rows_of(xp, x, target, weight, ignore)
    share = xp.expand_dims(-weights * grad / (total if reduction == 1 else 1), classes)
    numbers = xp.arange(x.shape[classes]).reshape([-1] + [1] * (x.ndim - classes - 1))
    return xp.where(xp.expand_dims(safe, classes) == numbers, share, 0)
