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


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("dim", [1, 5, 16, 64, 67])
@pytest.mark.parametrize("queries", [1, 3, 4, 5])
def test_few_queries_read_keys_in_any_order(queries, dim, dtype):
    """Inner products with the keys where they are, or with a copy: the same bit for bit."""
    query, key, value = (normal(2, 3, n, dim).astype(dtype) for n in (queries, 700, 700))
    want = expected(*(x.astype("float64") for x in (query, key, value)))
    got = ops.scaled_dot_product_attention(*map(flambeau.tensor, (query, key, value)))
    near = {"float64": 1e-12, "float32": 1e-5, "float16": 3e-3}[dtype]
    np.testing.assert_allclose(got.numpy(), want, rtol=near, atol=near)
    turned = flambeau.tensor(np.ascontiguousarray(key.swapaxes(2, 3))).transpose(2, 3)
    again = ops.scaled_dot_product_attention(flambeau.tensor(query), turned, flambeau.tensor(value))
    np.testing.assert_array_equal(again.numpy(), got.numpy())
    turned = flambeau.tensor(np.ascontiguousarray(query.swapaxes(2, 3))).transpose(2, 3)
    again = ops.scaled_dot_product_attention(turned, flambeau.tensor(key), flambeau.tensor(value))
    np.testing.assert_array_equal(again.numpy(), got.numpy())


@pytest.mark.parametrize("queries", [2, 4])
def test_few_queries_with_masks(queries):
    query, key, value = normal(1, 2, queries, 8), normal(1, 2, 600, 8), normal(1, 2, 600, 3)
    tensors = [flambeau.tensor(x) for x in (query, key, value)]
    for mask in (np.tri(queries, 600, 590, bool), np.tri(queries, 600, 0, bool)):
        got = ops.scaled_dot_product_attention(*tensors, flambeau.tensor(mask)).numpy()
        for row in range(queries):
            seen = mask[row]
            want = expected(query[:, :, row:row + 1], key[:, :, seen], value[:, :, seen])
            np.testing.assert_allclose(got[:, :, row:row + 1], want, rtol=1e-12, atol=1e-12)
    causal = ops.scaled_dot_product_attention(*tensors, is_causal=True).numpy()
    np.testing.assert_allclose(causal, got, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("dim", [1, 16, 37])
def test_any_number_of_keys(dim, is_causal, dtype):
    """Scores beside the last key, where vectors end, are nobody's; nor are those of later keys."""
    near = {"float64": 1e-12, "float32": 2e-5}[dtype]
    for count in (1, 5, 8, 15, 16, 17, 31, 33, 47, 63, 64, 65, 130, 511, 513):
        query, key, value = (normal(1, 2, count, dim).astype(dtype) for _ in range(3))
        whole = flambeau.tensor(np.full((1, 2, count + 9, dim), np.nan, dtype))
        whole[:, :, :count] = flambeau.tensor(key)
        got = ops.scaled_dot_product_attention(
            flambeau.tensor(query), whole[:, :, :count], flambeau.tensor(value),
            is_causal=is_causal)
        want = np.stack([
            expected(query[:, :, row : row + 1].astype("float64"),
                     *(x[:, :, : row + 1 if is_causal else count].astype("float64")
                       for x in (key, value)))[:, :, 0] for row in range(count)], 2)
        np.testing.assert_allclose(got.numpy(), want, rtol=near, atol=near)
        if is_causal and count > 1:
            key[:, :, -1] = np.nan
            again = ops.scaled_dot_product_attention(*map(flambeau.tensor, (query, key, value)),
                                                     is_causal=True)
            np.testing.assert_array_equal(again.numpy()[:, :, :-1], got.numpy()[:, :, :-1])
            assert np.isnan(again.numpy()[:, :, -1]).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(5, 3), (1, 3), (5, 1), (2, 1, 5, 3), (2, 3, 5, 3)])
@pytest.mark.parametrize("is_bool", [True, False])
def test_masks_of_causal_attention(shape, is_bool, dtype):
    """Both hold, as in PyTorch's kernel for four dimensions."""
    kind = getattr(flambeau, dtype)
    q, k, v = (flambeau.tensor(normal(2, 3, n, 4), dtype=kind) for n in (5, 3, 3))
    mask = flambeau.tensor(normal(*shape), dtype=kind)
    mask[..., 0, -1] = 9.0                  # let through, but for the order
    mask = mask > 0 if is_bool else mask
    before = flambeau.ones(5, 3, dtype=flambeau.bool).tril()
    both = mask & before if is_bool else flambeau.where(before, mask, -float("inf"))
    got = ops.scaled_dot_product_attention(q, k, v, mask, is_causal=True)
    assert flambeau.equal(got, ops.scaled_dot_product_attention(q, k, v, both))
    assert not flambeau.equal(got, ops.scaled_dot_product_attention(q, k, v, mask))


def test_masks_of_causal_attention_that_are_refused():
    q = flambeau.ones(2, 3, 4, 4)
    mask = flambeau.zeros(4, 4)
    for x, m, dropout in ((q[0], mask, 0.0), (q, flambeau.zeros(3, 4, 4), 0.0), (q, mask, 0.5)):
        with pytest.raises(RuntimeError, match="attn_mask should not be set when is_causal=True"):
            ops.scaled_dot_product_attention(x, x, x, m, dropout_p=dropout, is_causal=True)
