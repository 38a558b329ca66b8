"""Attention of several heads, as a function, against PyTorch and against the formula."""

import numpy as np
import pytest

import flambeau
from flambeau.nn.functional import multi_head_attention_forward

LENGTH, KEYS, BATCH, WIDTH, HEADS = 3, 4, 2, 6, 2
RNG = np.random.default_rng(3)


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float64)


QUERY, KEY, VALUE = numbers(LENGTH, BATCH, WIDTH), numbers(KEYS, BATCH, WIDTH), numbers(
    KEYS, BATCH, WIDTH)
PACKED, BIAS, OUT, OUT_BIAS = numbers(3 * WIDTH, WIDTH), numbers(3 * WIDTH), numbers(
    WIDTH, WIDTH), numbers(WIDTH)
PADDING = np.array([[False, False, True, False], [False, True, True, False]])
LATER = np.triu(np.ones((LENGTH, KEYS), bool), 1)
SQUARE = np.triu(np.ones((LENGTH, LENGTH), bool), 1)

#: Options, and whether all three inputs are the query.
CASES = {
    "plain": ({}, False),
    "self": ({}, True),
    "unpadded": ({"key_padding_mask": PADDING}, False),
    "masked": ({"attn_mask": LATER}, False),
    "both masks": ({"attn_mask": LATER, "key_padding_mask": PADDING}, False),
    "numbers for masks": ({"attn_mask": numbers(LENGTH, KEYS),
                           "key_padding_mask": numbers(BATCH, KEYS)}, False),
    "a mask for each head": ({"attn_mask": numbers(BATCH * HEADS, LENGTH, KEYS)}, False),
    "causal": ({"attn_mask": SQUARE, "is_causal": True}, True),
    "heads apart": ({"average_attn_weights": False}, False),
    "one more key": ({"bias_k": numbers(1, 1, WIDTH), "bias_v": numbers(1, 1, WIDTH),
                      "attn_mask": LATER, "key_padding_mask": PADDING}, False),
    "a zero key": ({"add_zero_attn": True, "attn_mask": LATER, "key_padding_mask": PADDING}, False),
    "no bias": ({"in_proj_bias": None, "out_proj_bias": None}, False),
    "three weights": ({"use_separate_proj_weight": True, "in_proj_weight": None,
                       "q_proj_weight": PACKED[:WIDTH], "k_proj_weight": PACKED[WIDTH:2 * WIDTH],
                       "v_proj_weight": PACKED[2 * WIDTH:]}, False),
    "static": ({"static_k": numbers(BATCH * HEADS, KEYS, WIDTH // HEADS),
                "static_v": numbers(BATCH * HEADS, KEYS, WIDTH // HEADS)}, False),
}


def call(lib, function, options, alone, **more):
    def tensor(x):
        return lib.tensor(x) if isinstance(x, np.ndarray) else x

    first = tensor(QUERY)
    inputs = (first, first, first) if alone else (first, tensor(KEY), tensor(VALUE))
    arguments = {"in_proj_weight": PACKED, "in_proj_bias": BIAS, "bias_k": None, "bias_v": None,
                 "add_zero_attn": False, "dropout_p": 0.0, "out_proj_weight": OUT,
                 "out_proj_bias": OUT_BIAS} | options | more
    return function(*inputs, WIDTH, HEADS, **{k: tensor(v) for k, v in arguments.items()})


@pytest.mark.oracle
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_against_torch(name, need_weights):
    torch = pytest.importorskip("torch")
    options, alone = CASES[name]
    theirs = call(torch, torch.nn.functional.multi_head_attention_forward, options, alone,
                  need_weights=need_weights)
    mine = call(flambeau, multi_head_attention_forward, options, alone, need_weights=need_weights)
    assert (mine[1] is None) == (theirs[1] is None)
    for ours, expected in zip(mine, theirs, strict=True):
        if expected is not None:
            np.testing.assert_allclose(ours.numpy(), expected.numpy(), rtol=1e-10, atol=1e-11)


def test_against_the_formula():
    result, weights = call(flambeau, multi_head_attention_forward, {}, False)
    q, k, v = (x @ w.T + b for x, w, b in zip((QUERY, KEY, VALUE), np.split(PACKED, 3),
                                              np.split(BIAS, 3), strict=True))
    heads = [np.split(x, HEADS, axis=-1) for x in (q, k, v)]
    parts, means = [], 0
    for qh, kh, vh in zip(*heads, strict=True):
        scores = np.exp(np.einsum("lbd,sbd->bls", qh, kh) / np.sqrt(WIDTH / HEADS))
        scores /= scores.sum(-1, keepdims=True)
        parts.append(np.einsum("bls,sbd->lbd", scores, vh))
        means = means + scores / HEADS
    expected = np.concatenate(parts, -1) @ OUT.T + OUT_BIAS
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-10)
    np.testing.assert_allclose(weights.numpy(), means, rtol=1e-10)


def test_one_sequence_is_a_batch_of_one():
    single = [flambeau.tensor(x[:, 0].copy()) for x in (QUERY, KEY, VALUE)]
    rest = (WIDTH, HEADS, flambeau.tensor(PACKED), flambeau.tensor(BIAS), None, None, False, 0.0,
            flambeau.tensor(OUT), flambeau.tensor(OUT_BIAS))
    result, weights = multi_head_attention_forward(*single, *rest)
    assert tuple(result.shape) == (LENGTH, WIDTH)
    assert tuple(weights.shape) == (LENGTH, KEYS)
    whole, _ = call(flambeau, multi_head_attention_forward, {}, False)
    np.testing.assert_allclose(result.numpy(), whole.numpy()[:, 0], rtol=1e-10)


def test_weights_are_dropped_when_training():
    flambeau.manual_seed(1)
    _, weights = call(flambeau, multi_head_attention_forward, {}, False, dropout_p=0.5,
                      average_attn_weights=False)
    assert bool((weights == 0).any())
    _, weights = call(flambeau, multi_head_attention_forward, {}, False, dropout_p=0.5,
                      training=False)
    assert not bool((weights == 0).any())


@pytest.mark.parametrize(("options", "text"), [
    ({"attn_mask": np.ones((2, 2), bool)}, r"attn_mask is \[2, 2\], but should be \[3, 4\]"),
    ({"key_padding_mask": np.ones((2, 4), np.int64)}, "only bool and floating"),
    ({"is_causal": True}, "Need attn_mask"),
    ({"in_proj_weight": None}, "in_proj_weight is None"),
    ({"bias_k": numbers(1, 1, WIDTH)}, "both bias_k and bias_v"),
])
def test_mistakes(options, text):
    refused = {"bias_k", "key_padding_mask"} & options.keys()
    error = AssertionError if refused else RuntimeError
    with pytest.raises(error, match=text):
        call(flambeau, multi_head_attention_forward, options, False)
