"""``MultiheadAttention`` against PyTorch, against the formula, and by itself."""

import numpy as np
import pytest
from modules_kit import (
    Given,
    against_torch,
    check_copies,
    check_dtype,
    check_gradients,
    check_meta,
    check_strided,
    close,
    copy_state,
    give,
    refuses,
    row,
)

import flambeau
from flambeau import nn

BATCH, QUERIES, KEYS, WIDTH, HEADS = 3, 4, 5, 8, 2


def numbers(*shape):
    return Given(lambda rng: rng.standard_normal(shape))


def fixed(array):
    return Given(lambda rng: np.array(array))


PADDING = fixed(np.arange(KEYS) >= np.array([[5], [3], [4]]))
ONE_PADDING = fixed([False, True, False, False, True])
LATER = fixed(np.triu(np.ones((QUERIES, KEYS), bool), 1))
SQUARE = fixed(np.triu(np.ones((QUERIES, QUERIES), bool), 1))
SEQ = [(QUERIES, BATCH, WIDTH), (KEYS, BATCH, WIDTH), (KEYS, BATCH, WIDTH)]
FIRST = [(b, a, c) for a, b, c in SEQ]
OTHER = [(BATCH, QUERIES, WIDTH), (BATCH, KEYS, 3), (BATCH, KEYS, 6)]
ALONE = [(QUERIES, WIDTH), (KEYS, WIDTH), (KEYS, WIDTH)]
NAME = "MultiheadAttention"


def attention(inputs, *masks, need=True, average=True, causal=False, **options):
    """A row: padding and mask, then the switches of ``forward``."""
    padding, mask = masks if masks else (None, None)
    switches = [Given(lambda rng, value=value: value) for value in (need, average, causal)]
    padding, mask = (mask or Given(lambda rng: None) for mask in (padding, mask))
    inputs = [*inputs, padding, switches[0], mask, *switches[1:]]
    return row(NAME, WIDTH, HEADS, inputs=[inputs], **options)


ROWS = [
    attention(SEQ),
    attention(FIRST, batch_first=True),
    attention(ALONE),
    attention(ALONE, ONE_PADDING, LATER, batch_first=True),
    attention(FIRST, need=False, batch_first=True),
    attention(SEQ, need=False),
    attention(FIRST, average=False, batch_first=True),
    attention(SEQ, PADDING, None, bias=False),
    attention(SEQ, None, LATER),
    attention(FIRST, PADDING, LATER, batch_first=True),
    attention(FIRST, PADDING, LATER, need=False, batch_first=True),
    attention(SEQ, numbers(BATCH, KEYS), numbers(QUERIES, KEYS)),
    attention(SEQ, numbers(BATCH, KEYS), numbers(QUERIES, KEYS), need=False),
    attention(FIRST, None, numbers(BATCH * HEADS, QUERIES, KEYS), batch_first=True),
    attention(FIRST, None, numbers(BATCH * HEADS, QUERIES, KEYS), need=False, batch_first=True),
    attention(FIRST, PADDING, LATER, add_bias_kv=True, batch_first=True),
    attention(SEQ, PADDING, LATER, need=False, add_bias_kv=True, add_zero_attn=True),
    attention(SEQ, add_zero_attn=True),
    attention(OTHER, PADDING, None, kdim=3, vdim=6, batch_first=True),
    attention(OTHER, PADDING, LATER, need=False, kdim=3, vdim=6, bias=False, batch_first=True),
    attention([SEQ[0]] * 3, None, SQUARE, causal=True),
    attention([SEQ[0]] * 3, None, SQUARE, need=False, causal=True),
    attention([SEQ[0]] * 3, None, SQUARE, need=False, causal=True, add_bias_kv=True),
]


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS[:-1], ids=str)
def test_against_torch(row, dtype):
    against_torch(row, dtype)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_invariants(row):
    for check in (check_copies, check_dtype, check_strided, check_meta, check_gradients):
        check(row)


@pytest.mark.oracle
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("need", [False, True])
@pytest.mark.parametrize("same", ["all", "key and value", "query and key"])
def test_inputs_that_are_one_tensor(same, need, batch_first):
    torch = pytest.importorskip("torch")
    theirs = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=batch_first)
    mine = nn.MultiheadAttention(WIDTH, HEADS, batch_first=batch_first)
    copy_state(mine, theirs)
    a, b = np.random.default_rng(1).standard_normal((2, 4, 4, WIDTH)).astype("float32")
    results = []
    for package, module in ((flambeau, mine), (torch, theirs)):
        x, y = (package.tensor(each).requires_grad_() for each in (a, b))
        given = {"all": (x, x, x), "key and value": (y, x, x), "query and key": (x, x, y)}[same]
        out, weights = module(*given, need_weights=need)
        (out.cos().sum() + (weights.sin().sum() if need else 0)).backward()
        results.append([out, x.grad, *(p.grad for p in module.parameters())])
    for one, other in zip(*results, strict=True):
        close(one, other, scale=5)


@pytest.mark.oracle
@pytest.mark.parametrize("need", [False, True])
def test_evaluation_without_gradients(need):
    """PyTorch takes another way there."""
    torch = pytest.importorskip("torch")
    theirs = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval()
    mine = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval()
    copy_state(mine, theirs)
    x = np.random.default_rng(1).standard_normal((BATCH, KEYS, WIDTH)).astype("float32")
    padding = np.arange(KEYS) >= np.array([[5], [3], [4]])
    outs = []
    for package, module in ((flambeau, mine), (torch, theirs)):
        with package.no_grad():
            y, mask = package.tensor(x), package.tensor(padding)
            outs.append(module(y, y, y, key_padding_mask=mask, need_weights=need))
    close(outs[0][0], outs[1][0])
    assert (outs[0][1] is None) == (outs[1][1] is None)


def test_against_the_formula():
    module = nn.MultiheadAttention(WIDTH, HEADS, dtype=flambeau.float64)
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((n, WIDTH)) for n in (QUERIES, KEYS, KEYS))
    out, weights = module(*(flambeau.tensor(x) for x in (q, k, v)), average_attn_weights=False)
    packed, bias = give(module.in_proj_weight), give(module.in_proj_bias)
    q, k, v = (
        x @ w.T + b
        for x, w, b in zip((q, k, v), np.split(packed, 3), np.split(bias, 3), strict=True)
    )
    heads = []
    for i, part in enumerate(np.split(np.arange(WIDTH), HEADS)):
        scores = np.exp(q[:, part] @ k[:, part].T / np.sqrt(WIDTH / HEADS))
        scores /= scores.sum(-1, keepdims=True)
        np.testing.assert_allclose(give(weights)[i], scores, rtol=1e-10)
        heads.append(scores @ v[:, part])
    expected = np.concatenate(heads, -1) @ give(module.out_proj.weight).T
    np.testing.assert_allclose(give(out), expected + give(module.out_proj.bias), rtol=1e-10)


def test_initial_values():
    flambeau.manual_seed(0)
    module = nn.MultiheadAttention(64, 2, add_bias_kv=True)
    bound = (6 / (64 + 3 * 64)) ** 0.5
    weight = give(module.in_proj_weight)
    assert abs(weight).max() <= bound
    assert weight.std() == pytest.approx(bound / 3**0.5, rel=0.02)
    assert not give(module.in_proj_bias).any()
    assert not give(module.out_proj.bias).any()
    # as PyTorch counts the fans of (1, 1, 64): both are 64
    assert give(module.bias_k).std() == pytest.approx((2 / 65) ** 0.5, rel=0.5)


def test_weights_are_dropped_in_training_only():
    module = nn.MultiheadAttention(WIDTH, HEADS, dropout=0.5)
    x = flambeau.randn(16, WIDTH)
    _, weights = module(x, x, x, average_attn_weights=False)
    assert 0.3 < (weights == 0).float().mean().item() < 0.7
    assert bool((module(x, x, x, need_weights=False)[0] != module(x, x, x)[0]).any())
    _, weights = module.eval()(x, x, x, average_attn_weights=False)
    assert not bool((weights == 0).any())


def test_keys_all_left_out():
    """Without weights the result is that of no key, zeros; the weights are not a number."""
    module = nn.MultiheadAttention(WIDTH, HEADS, bias=False)
    x, mask = flambeau.randn(4, WIDTH), flambeau.ones(4, 4, dtype=flambeau.bool)
    assert not give(module(x, x, x, attn_mask=mask, need_weights=False)[0]).any()
    assert np.isnan(give(module(x, x, x, attn_mask=mask)[1])).all()


MISTAKES = [
    (lambda p: p.nn.MultiheadAttention(8, 3), AssertionError, "divisible by num_heads"),
    (lambda p: p.nn.MultiheadAttention(0, 3), ValueError, "greater than 0"),
    (lambda p: p.nn.MultiheadAttention(8, -1), ValueError, "num_heads=-1"),
]


@pytest.mark.parametrize(("make", "error", "text"), MISTAKES)
def test_mistakes_in_making(make, error, text):
    refuses(make, error, text, same_type=False)


@pytest.mark.oracle
@pytest.mark.parametrize(("make", "error", "text"), MISTAKES)
def test_mistakes_are_those_of_torch(make, error, text):
    refuses(make, error, text)


CALLS = [
    ([(4, 3, 8), (5, 3, 8), (5, 3, 7)], {}, RuntimeError, r"\[5, 3, 7\]"),
    ([(4, 3, 7), (5, 3, 8), (5, 3, 8)], {}, AssertionError, "dimension of 8, but got 7"),
    ([(4, 3, 8), (5, 3, 8), (6, 3, 8)], {}, AssertionError, "key and value must have the same"),
    ([(4, 3, 8), (5, 2, 8), (5, 2, 8)], {}, RuntimeError, "all three the same batch"),
    ([(4, 8), (5, 3, 8), (5, 3, 8)], {}, AssertionError, r"all \[length, batch, features\] or all"),
    ([(4, 2, 3, 8)] * 3, {}, AssertionError, r"got \[4, 2, 3, 8\]"),
    ([(4, 3, 8)] * 3, {"is_causal": True}, RuntimeError, "generate_square_subsequent_mask"),
    ([(4, 3, 8)] * 3, {"attn_mask": (4, 5)}, RuntimeError, r"\[4, 5\], but should be \[4, 4\] or"),
    ([(4, 3, 8)] * 3, {"key_padding_mask": (4, 3)}, AssertionError, r"should be \[3, 4\]"),
    ([(4, 3, 8)] * 3, {"key_padding_mask": (4,)}, AssertionError, "has 2 dimension"),
    ([(4, 3, 8)] * 3, {"attn_mask": (4,)}, AssertionError, r"got shape \[4\]"),
    ([(4, 8)] * 3, {"attn_mask": (5, 4, 4)}, AssertionError, "with 2 heads"),
]


@pytest.mark.parametrize(("shapes", "options", "error", "text"), CALLS)
def test_mistakes_in_calling(shapes, options, error, text):
    module = nn.MultiheadAttention(8, 2)
    for key, value in options.items():
        options = {key: flambeau.ones(value) if isinstance(value, tuple) else value}
    with pytest.raises(error, match=text):
        module(*(flambeau.ones(shape) for shape in shapes), **options)
