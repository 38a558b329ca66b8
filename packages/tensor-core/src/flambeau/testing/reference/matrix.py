"""Matrix products and attention, with NumPy."""
from __future__ import annotations

import numpy as np

from flambeau.testing.reference.kernels import kernel


def _wide(x):
    return x if x.dtype.kind in "iuc" else x.astype(np.float64)


@kernel("matmul")
def matmul(a, b):
    return np.matmul(_wide(a), _wide(b))


@kernel("wide_product")
def wide_product(a, b):
    return matmul(a, b)


@kernel("linear")
def linear(x, weight, bias):
    result = np.matmul(_wide(x), _wide(weight).T)
    return result if bias is None else result + bias


def _scores(query, key, mask, causal, scale):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=np.bool_), scores, -np.inf)
    if mask is None:
        return scores
    return np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask


def _weights(scores, total):
    """``exp(scores - total)``, and zero in rows where nothing takes part."""
    return np.where(np.isfinite(total), np.exp(scores - np.where(np.isfinite(total), total, 0)), 0)


@kernel("attention")
def attention(query, key, value, mask, causal, scale):
    query, key, value = map(_wide, (query, key, value))
    scores = _scores(query, key, mask, causal, scale)
    high = scores.max(-1, keepdims=True, initial=-np.inf)
    safe = np.where(np.isfinite(high), high, 0)
    total = np.log(np.exp(scores - safe).sum(-1, keepdims=True)) + safe
    return np.matmul(_weights(scores, total), value), total[..., 0]


@kernel("attention_grad")
def attention_grad(grad, query, key, value, mask, causal, scale, result, total):
    grad, query, key, value, result = map(_wide, (grad, query, key, value, result))
    weights = _weights(_scores(query, key, mask, causal, scale), total[..., None])
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    inner = np.matmul(grad, np.swapaxes(value, -1, -2))
    slope = weights * (inner - (grad * result).sum(-1, keepdims=True)) * scale
    return (np.matmul(slope, key), np.matmul(np.swapaxes(slope, -1, -2), query),
            np.matmul(np.swapaxes(weights, -1, -2), grad))
