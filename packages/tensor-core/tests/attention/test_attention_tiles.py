"""Attention of bfloat16, whose products some processors make of tiles, beside float64."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

#: Queries, keys, features, features of values: blocks and parts of them, odd numbers.
SIZES = ((64, 64, 32, 32), (65, 1026, 80, 48), (100, 131, 64, 48), (300, 700, 16, 18),
         (301, 302, 64, 64), (8, 34, 24, 16), (129, 200, 33, 20))


def _made(rng, *shape):
    return flambeau.tensor(rng.standard_normal(shape).astype("float32")).bfloat16()


def _wide(x):
    return x.float().numpy().astype("float64")


def _added(mask, causal, queries, keys):
    """What is added to the scores."""
    if causal:
        return np.where(np.tri(queries, keys, dtype=bool), 0, -np.inf)
    if mask is None:
        return 0.0
    values = mask.numpy() if mask.dtype is flambeau.bool else _wide(mask)
    return np.where(values, 0, -np.inf) if values.dtype == bool else values


def _expected(query, key, value, added, grad):
    """The result and three gradients, of float64."""
    scale = query.shape[-1] ** -0.5
    scores = query @ key.swapaxes(-1, -2) * scale + added
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    result = weights @ value
    inner = weights * (grad @ value.swapaxes(-1, -2) - (grad * result).sum(-1, keepdims=True))
    return (result, inner @ key * scale, inner.swapaxes(-1, -2) @ query * scale,
            weights.swapaxes(-1, -2) @ grad)


def _close(given, expected):
    """Within some roundings of the greatest numbers of each row's sums."""
    bound = 2.0**-6 * np.abs(expected).max() + 2.0**-7
    assert given.dtype is flambeau.bfloat16
    assert np.abs(_wide(given) - expected).max() <= bound


def _check(query, key, value, mask, causal, rng):
    result, logsumexp = ops.attention(query, key, value, mask, causal, None)
    grad = _made(rng, *result.shape)
    given = (result, *ops.attention_grad(grad, query, key, value, mask, causal, None, result,
                                         logsumexp))
    added = _added(mask, causal, query.shape[-2], key.shape[-2])
    expected = _expected(*map(_wide, (query, key, value)), added, _wide(grad))
    for one, other in zip(given, expected, strict=True):
        _close(one, other)


@pytest.mark.parametrize("kind", ("none", "causal", "bool", "added"))
@pytest.mark.parametrize("size", SIZES)
def test_sizes_and_masks(size, kind):
    queries, keys, dim, value_dim = size
    rng = np.random.default_rng(sum(size))
    query, key = _made(rng, 1, 2, queries, dim), _made(rng, 1, 2, keys, dim)
    mask = None
    if kind == "bool":
        mask = flambeau.tensor(rng.random((queries, keys)) > 0.3)
    elif kind == "added":
        mask = _made(rng, 2, queries, keys)
    _check(query, key, _made(rng, 1, 2, keys, value_dim), mask, kind == "causal", rng)


def test_layouts():
    """Heads in the middle, parts of one tensor, steps, odd addresses."""
    rng = np.random.default_rng(0)
    together = _made(rng, 2, 66, 3, 4, 32)
    query, key, value = (x.transpose(1, 2) for x in together.unbind(2))
    _check(query, key, value, None, True, rng)
    odd = _made(rng, 2, 4, 66, 35)[..., 1:33]
    _check(odd, key, value, None, False, rng)
    _check(query, key, _made(rng, 2, 4, 66, 64)[..., ::2], None, False, rng)
    _check(query, key.transpose(2, 3).contiguous().transpose(2, 3), value, None, False, rng)


def test_what_is_hidden_is_not_read():
    """A causal mask hides the keys after the last query, whatever they hold."""
    rng = np.random.default_rng(1)
    query, key, value = (_made(rng, 1, 1, n, 32) for n in (33, 80, 80))
    shown = ops.attention(query, key, value, None, True, None)[0]
    key[:, :, 34:] = value[:, :, 34:] = float("nan")
    assert ops.attention(query, key, value, None, True, None)[0].equal(shown)
