"""Attention over operands whose memory is not in order."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

RNG = np.random.default_rng(3)


def expected(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def normal(*shape):
    return RNG.standard_normal(shape)


@pytest.mark.parametrize("shape", [(1, 1, 7, 8), (2, 1, 7, 8), (1, 3, 7, 8), (1, 1, 1, 8)])
def test_expanded_queries_give_a_contiguous_result(shape):
    query, key, value = normal(*shape), normal(2, 3, 5, 8), normal(2, 3, 5, 8)
    wide = flambeau.tensor(query).expand(2, 3, *shape[2:])
    assert 0 in wide.stride()
    got = ops.scaled_dot_product_attention(wide, flambeau.tensor(key), flambeau.tensor(value))
    assert got.is_contiguous()
    want = expected(np.broadcast_to(query, (2, 3, *shape[2:])), key, value)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-12)


def test_transposed_queries_keep_their_order():
    query, key, value = normal(2, 7, 3, 8), normal(2, 3, 5, 8), normal(2, 3, 5, 8)
    turned = flambeau.tensor(query).transpose(1, 2)
    got = ops.scaled_dot_product_attention(turned, flambeau.tensor(key), flambeau.tensor(value))
    np.testing.assert_allclose(got.numpy(), expected(query.swapaxes(1, 2), key, value), rtol=1e-12,
                               atol=1e-12)
