"""Reductions, scans and the softmax family, with NumPy."""
from __future__ import annotations

import numpy as np

from flambeau.testing.reference.kernels import kernel


def axes(x: np.ndarray, dim) -> tuple[int, ...]:
    """The axes that ``dim`` names: None and an empty list name all."""
    if dim is None or dim == ():
        return tuple(range(x.ndim))
    return tuple(d % max(x.ndim, 1) for d in ((dim,) if isinstance(dim, int) else dim) if x.ndim)


def _wide(x: np.ndarray) -> np.ndarray:
    """Sums are taken in double precision."""
    wide = {"b": np.int64, "i": np.int64, "u": np.int64, "f": np.float64, "c": np.complex128}
    return x.astype(wide[x.dtype.kind])


def _converted(x, dtype):
    from flambeau.testing.arrays import STORED, cast, dtype_name, from_bfloat16, to_bfloat16

    if dtype is None:
        return _wide(x)
    if dtype_name(dtype) == "bfloat16":
        return _wide(from_bfloat16(to_bfloat16(x)))
    return _wide(cast(x, STORED[dtype_name(dtype)]))


@kernel("sum")
def sum_(x, dim, keepdim, dtype):
    return _converted(x, dtype).sum(axes(x, dim), keepdims=keepdim)


@kernel("prod")
def prod(x, dim, keepdim, dtype):
    return _converted(x, dtype).prod(axes(x, dim), keepdims=keepdim)


@kernel("mean")
def mean(x, dim, keepdim, dtype):
    total = _converted(x, dtype).sum(axes(x, dim), keepdims=keepdim)
    return total / np.prod([x.shape[a] for a in axes(x, dim)], dtype=np.int64)


@kernel("amax")
def amax(x, dim, keepdim):
    return x.max(axes(x, dim), keepdims=keepdim)


@kernel("amin")
def amin(x, dim, keepdim):
    return x.min(axes(x, dim), keepdims=keepdim)


@kernel("any")
def any_(x, dim, keepdim):
    return (x != 0).any(axes(x, dim), keepdims=keepdim)


@kernel("all")
def all_(x, dim, keepdim):
    return (x != 0).all(axes(x, dim), keepdims=keepdim)


def _best(x, dim, keepdim, choose):
    if dim is None or x.ndim == 0:
        flat = np.asarray(choose(x.reshape(-1), 0))
        return flat.reshape((1,) * x.ndim) if keepdim else flat
    return choose(x, dim, keepdims=keepdim)


@kernel("argmax")
def argmax(x, dim, keepdim):
    return _best(x, dim, keepdim, np.argmax)


@kernel("argmin")
def argmin(x, dim, keepdim):
    return _best(x, dim, keepdim, np.argmin)


def _with_values(x, dim, keepdim, choose):
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    where = choose(x, dim, keepdims=True)
    values = np.take_along_axis(x, where, dim)
    return (values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim))


@kernel("max.dim")
def max_dim(x, dim, keepdim):
    return _with_values(x, dim, keepdim, np.argmax)


@kernel("min.dim")
def min_dim(x, dim, keepdim):
    return _with_values(x, dim, keepdim, np.argmin)


@kernel("var")
def var(x, dim, correction, keepdim):
    along = axes(x, dim)
    x = _wide(x)
    n = np.prod([x.shape[a] for a in along], dtype=np.int64)
    spread = np.abs(x - x.mean(along, keepdims=True)) ** 2
    divisor = max(0, n - (1 if correction is None else correction))
    return spread.sum(along, keepdims=keepdim) / np.float64(divisor)


@kernel("logsumexp")
def logsumexp(x, dim, keepdim):
    along = axes(x, dim)
    x = x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)
    high = x.real.max(along, keepdims=True, initial=-np.inf)
    high = np.where(np.isfinite(high), high, 0)
    result = np.log(np.exp(x - high).sum(along, keepdims=True)) + high
    return result if keepdim else result.squeeze(along)


@kernel("cumsum")
def cumsum(x, dim, dtype):
    return np.cumsum(_converted(x, dtype), dim) if x.ndim else _converted(x, dtype)


@kernel("softmax")
def softmax(x, dim, dtype):
    return np.exp(log_softmax(x, dim, dtype))


@kernel("log_softmax")
def log_softmax(x, dim, dtype):
    x = _converted(x, dtype)
    if x.size == 0:
        return x
    return x - logsumexp(x, dim, True)


@kernel("log_softmax_at")
def log_softmax_at(x, dim, index):
    inside = (index >= 0) & (index < x.shape[dim])
    where = np.where(inside, index, 0)[..., None]
    return np.where(inside[..., None], np.take_along_axis(log_softmax(x, dim, None), where, -1), 0)


@kernel("softmax_grad")
def softmax_grad(grad, result, dim):
    grad, result = _wide(grad), _wide(result)
    return result * (grad - (grad * result).sum(axes(grad, dim), keepdims=True))


@kernel("log_softmax_grad")
def log_softmax_grad(grad, result, dim):
    grad, result = _wide(grad), _wide(result)
    return grad - np.exp(result) * grad.sum(axes(grad, dim), keepdims=True)
