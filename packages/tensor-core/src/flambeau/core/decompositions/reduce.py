"""Reductions, softmax and scans."""
from __future__ import annotations

from flambeau.core import ops
from flambeau.core._core import get_default_dtype
from flambeau.core.decompositions.shared import count, filled, scan, wide
from flambeau.core.dtypes import dtypes


def _floating(x, dtype):
    return wide(x if dtype is None else x.to(dtype))


def softmax(x, dim, dtype):
    x = _floating(x, dtype)
    weights = x if not x.numel() else (x - x.amax(dim, True)).exp()
    return weights / weights.sum(dim, True)


def log_softmax(x, dim, dtype):
    x = _floating(x, dtype)
    x = x if not x.numel() else x - x.amax(dim, True)
    return x - x.exp().sum(dim, True).log()


def softmax_grad(grad, result, dim):
    grad, result = wide(grad), wide(result)
    return result * (grad - (grad * result).sum(dim, True))


def log_softmax_grad(grad, result, dim):
    grad, result = wide(grad), wide(result)
    return grad - result.exp() * grad.sum(dim, True)


def logsumexp(x, dim, keepdim):
    is_inexact = x.dtype.is_floating_point or x.dtype.is_complex
    x = _floating(x, None if is_inexact else get_default_dtype())
    if not x.numel():
        return x.exp().sum(dim, keepdim).log()
    high = (x.real if x.dtype.is_complex else x).amax(dim, True)
    high = ops.where(high.isfinite(), high, filled((), 0, high))
    total = (x - high).exp().sum(dim, True).log() + high
    if keepdim:
        return total
    dims = (dim,) if isinstance(dim, int) else tuple(dim) or tuple(range(x.ndim))
    return total.squeeze(dims) if x.ndim else total


def nansum(x, dim, keepdim, dtype):
    return ops.where(x.isnan(), 0, x).sum(dim, keepdim, dtype=dtype)


def std(x, dim, correction, keepdim):
    return ops.sqrt(ops.var(wide(x), dim, correction=correction, keepdim=keepdim))


def norm_of(x, p, dim, keepdim, dtype):
    size = _floating(x, dtype).abs()
    if p == 0:
        return (size != 0).to(size.dtype).sum(dim, keepdim)
    if abs(p) == float("inf"):
        return size.amax(dim, keepdim) if p > 0 else size.amin(dim, keepdim)
    return (size ** p).sum(dim, keepdim) ** (1 / p)


def log_softmax_at(x, dim, index):
    inside = (index >= 0) & (index < x.shape[dim])
    found = ops.gather(log_softmax(x, dim, None), -1, ops.where(inside, index, 0).unsqueeze(-1))
    return ops.where(inside.unsqueeze(-1), found, filled((), 0, found))


# ---- scans -------------------------------------------------------------------------------------
def cumprod(x, dim, dtype):
    if dtype is not None:
        x = x.to(dtype)
    elif not (x.dtype.is_floating_point or x.dtype.is_complex):
        x = x.to(dtypes["int64"])
    return scan([wide(x)], dim, lambda before, after: [before[0] * after[0]])[0]


def _running(x, dim, is_better):
    """Running extremes and where they stood: the last of equals, or of NaN if there is one."""
    def join(before, after):
        (old, at), (new, new_at) = before, after
        take = (is_better(new, old) & ~old.isnan()) | new.isnan()
        return ops.where(take, new, old), ops.where(take, new_at, at)

    shape = [1] * x.ndim
    if x.ndim:
        shape[dim] = x.shape[dim]
        positions = count(x, dim).reshape(shape).expand(x.shape)
    else:
        positions = filled((), 0, x).to(dtypes["int64"])
    return tuple(scan([x, positions], dim, join))


def cummax(x, dim):
    return _running(x, dim, ops.ge)


def cummin(x, dim):
    return _running(x, dim, ops.le)


def _log_of_sum(before, after):
    """``log(exp(a) + exp(b))`` on the branch of the greater term."""
    a, b = before[0], after[0]
    if not a.dtype.is_complex:
        return [ops.logaddexp(a, b)]
    less = a.real < b.real
    low, high = ops.where(less, a, b), ops.where(less, b, a)
    return [high + ops.log1p((low - high).exp())]


def logcumsumexp(x, dim):
    """Of complex numbers in order, since the branch depends on it."""
    if not x.dtype.is_complex or not x.ndim or not x.shape[dim]:
        return scan([wide(x)], dim, _log_of_sum)[0]
    lines = [x.select(dim, i) for i in range(x.shape[dim])]
    for i in range(1, len(lines)):
        lines[i] = _log_of_sum([lines[i - 1]], [lines[i]])[0]
    return ops.stack(lines, dim)
