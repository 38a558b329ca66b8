"""Scaled dot-product attention, written out."""
from __future__ import annotations

from flambeau.core import ops
from flambeau.core.decompositions.shared import filled, numbers, wide
from flambeau.core.dtypes import dtypes

_LOW = float("-inf")


def _scores(query, key, mask, causal, scale):
    scores = query @ key.transpose(-1, -2) * scale
    low = filled((), _LOW, scores)
    if causal:
        rows = numbers(query.shape[-2], query.device).unsqueeze(-1)
        scores = ops.where(numbers(key.shape[-2], query.device) <= rows, scores, low)
    if mask is None:
        return scores
    return ops.where(mask, scores, low) if mask.dtype == dtypes["bool"] else scores + wide(mask)


def _scale(query, scale):
    return query.shape[-1] ** -0.5 if scale is None else scale


def _weights(scores, total):
    """``exp(scores - total)``, and zero in rows where nothing takes part."""
    zero = filled((), 0, scores)
    takes_part = total != _LOW
    shifted = scores - ops.where(takes_part, total, zero)
    return ops.where(takes_part, shifted.exp(), zero)


def attention(query, key, value, mask, causal, scale):
    query, key, value = wide(query), wide(key), wide(value)
    scores = _scores(query, key, mask, causal, _scale(query, scale))
    if not key.shape[-2]:
        total = filled((*scores.shape[:-1], 1), _LOW, scores)
    else:
        total = ops.logsumexp(scores, -1, True)
    return _weights(scores, total) @ value, total.squeeze(-1)


def attention_grad(grad, query, key, value, mask, causal, scale, result, total):
    grad, query, key, value, result = map(wide, (grad, query, key, value, result))
    scale = _scale(query, scale)
    scores = _scores(query, key, mask, causal, scale)
    weights = _weights(scores, wide(total).unsqueeze(-1).to(scores.dtype))
    inner = grad @ value.transpose(-1, -2)
    slope = weights * (inner - (grad * result).sum(-1, True)) * scale
    return slope @ key, slope.transpose(-1, -2) @ query, weights.transpose(-1, -2) @ grad
