"""Generation with a cache gives what the whole sequence at once gives."""

import numpy as np
import pytest
from modules_kit import give

import flambeau
from flambeau import nn
from flambeau.nn.attention import KeyValueCache, LayerCache, SDPBackend, sdpa_kernel
from flambeau.nn.attention import bias as biases

F = nn.functional


@pytest.fixture(autouse=True)
def evaluation():
    with flambeau.no_grad():
        yield


def near(a, b):
    np.testing.assert_allclose(give(a), give(b), rtol=1e-4, atol=1e-5)


STEPS = [[1] * 9, [9], [4, 1, 1, 3], [6, 3]]


@pytest.mark.parametrize("max_length", [None, 9])
@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("heads", [4, 2])
def test_attend(steps, heads, max_length):
    query = flambeau.randn(2, 4, 9, 8)
    key, value = flambeau.randn(2, heads, 9, 8), flambeau.randn(2, heads, 9, 6)
    expected = F.scaled_dot_product_attention(
        query, key, value, is_causal=True, scale=0.3, enable_gqa=True
    )
    cache = LayerCache(max_length)
    parts = zip(query.split(steps, 2), key.split(steps, 2), value.split(steps, 2), strict=True)
    near(flambeau.cat([cache.attend(*part, scale=0.3) for part in parts], 2), expected)
    assert cache.length == 9
    near(cache.held[0], key)


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {"batch_first": True},
        {"batch_first": False},
        {"batch_first": True, "norm_first": True},
    ],
    ids=str,
)
def test_encoder(steps, options):
    layer = nn.TransformerEncoderLayer(8, 2, 16, **options)
    stack = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8)).eval()
    dim = 1 if options["batch_first"] else 0
    x = flambeau.randn(3, 9, 8) if dim else flambeau.randn(9, 3, 8)
    expected = stack(x, nn.Transformer.generate_square_subsequent_mask(9))
    cache = KeyValueCache(layers=2)
    near(flambeau.cat([stack(part, cache=cache) for part in x.split(steps, dim)], dim), expected)
    assert cache.length == 9


def test_encoder_with_padding_and_a_mask():
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
    x = flambeau.randn(2, 6, 8)
    padding = flambeau.tensor([[True, True, False, False, False, False], [False] * 6])
    mask = flambeau.ones(6, 6, dtype=flambeau.bool).triu(1)
    mask[5, 3] = True
    expected = stack(x, mask, padding)
    cache = KeyValueCache(layers=2)
    first = stack(x[:, :4], mask[:4, :4], padding[:, :4], cache=cache)
    rest = stack(x[:, 4:], mask[4:], padding, cache=cache)
    near(flambeau.cat([first, rest], 1)[:, 2:], expected[:, 2:])


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("batch", [(2,), ()])
def test_decoder(steps, batch):
    layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    stack = nn.TransformerDecoder(layer, 2).eval()
    x, memory = flambeau.randn(*batch, 9, 8), flambeau.randn(*batch, 5, 8)
    expected = stack(x, memory, nn.Transformer.generate_square_subsequent_mask(9))
    cache = KeyValueCache(layers=2, max_length=9)
    parts = [stack(part, memory, cache=cache) for part in x.split(steps, -2)]
    near(flambeau.cat(parts, -2), expected)


def test_memory_is_projected_once_until_it_changes():
    layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()
    x, memory = flambeau.randn(2, 1, 8), flambeau.randn(2, 5, 8)
    cache = KeyValueCache(layers=1)
    layer(x, memory, cache=cache[0])
    held = cache[0].memory.held
    layer(x, memory, cache=cache[0])
    assert cache[0].memory.held is held
    memory.mul_(2)
    cache.crop(0)
    near(layer(x, memory, cache=cache[0]), layer(x, memory))
    assert cache[0].memory.held is not held


def test_weights_with_a_cache():
    module = nn.MultiheadAttention(8, 2, batch_first=True)
    x = flambeau.randn(2, 6, 8)
    _, expected = module(x, x, x, attn_mask=flambeau.ones(6, 6).triu(1) != 0)
    cache = LayerCache()
    _, first = module(x[:, :4], x[:, :4], x[:, :4], cache=cache)
    _, rest = module(x[:, 4:], x[:, 4:], x[:, 4:], cache=cache)
    near(first, expected[:, :4, :4])
    near(rest, expected[:, 4:])


def test_memory_grows_by_doubling():
    cache, taken = LayerCache(), set()
    row = flambeau.ones(1, 2, 1, 4)
    for index in range(300):
        keys, _ = cache.append(row * index, row)
        taken.add(cache.nbytes)
    assert len(taken) <= 4
    assert keys[0, 1, :, 2].tolist() == list(range(300))
    exact = LayerCache(max_length=300)
    exact.append(row, row)
    assert exact.nbytes == 2 * 300 * 2 * 4 * 4


def test_crop_clear_and_reorder():
    cache = KeyValueCache(2)
    rows = flambeau.arange(3.0).reshape(3, 1, 1).expand(3, 4, 2)
    for layer in cache:
        layer.append(rows, rows)
    cache.crop(2)
    assert cache.length == 2
    cache[0].append(-rows[:, :1], rows[:, :1])
    assert cache[0].held[0][:, :, 0].tolist() == [[0, 0, 0], [1, 1, -1], [2, 2, -2]]
    cache.reorder(flambeau.tensor([2, 2, 0, 1]))
    assert cache[1].held[0][:, 0, 0].tolist() == [2, 2, 0, 1]
    assert "2 layers, 2 positions" in repr(cache)
    cache.clear()
    assert (cache.length, cache.nbytes) == (0, 0)


def test_inference_mode():
    cache = LayerCache()
    x = flambeau.ones(1, 1, 1, 2)
    for _ in range(70):
        with flambeau.inference_mode():
            cache.attend(x, x, x)
    assert cache.length == 70


def test_mistakes():
    x = flambeau.ones(1, 2, 3, 4)
    cache = LayerCache(max_length=4)
    cache.append(x, x)
    with pytest.raises(ValueError, match=r"max_length=4 positions, and 6 are needed"):
        cache.append(x, x)
    assert cache.length == 3
    with pytest.raises(RuntimeError, match=r"\[1, 2, 3, 4\] of flambeau.float32 on cpu.* clear"):
        cache.append(flambeau.ones(1, 1, 1, 4), flambeau.ones(1, 1, 1, 4))
    with pytest.raises(RuntimeError, match="flambeau.float64"):
        cache.append(x[:, :, :1].double(), x[:, :, :1].double())
    with pytest.raises(RuntimeError, match="differ at most in the features"):
        cache.append(x, x[:, :, :2])
    with pytest.raises(ValueError, match="from 0 to 3, not 5"):
        cache.crop(5)
    with pytest.raises(RuntimeError, match="empty"):
        _ = LayerCache().held
    with flambeau.enable_grad(), pytest.raises(RuntimeError, match=r"flambeau\.no_grad\(\)"):
        LayerCache().append(x.clone().requires_grad_(), x)
    for wrong in (0, None):
        with pytest.raises(ValueError, match="number of layers"):
            KeyValueCache(wrong)
    with pytest.raises(ValueError, match="max_length"):
        KeyValueCache(1, 0)
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    with pytest.raises(ValueError, match=r"KeyValueCache\(layers=2\)"):
        stack(flambeau.ones(3, 1, 8), cache=KeyValueCache(3))


@pytest.mark.parametrize(
    ("sizes", "upper", "lower"),
    [
        ((2, 3), [[1, 0, 0], [1, 1, 0]], [[1, 1, 0], [1, 1, 1]]),
        ((2, 2), [[1, 0], [1, 1]], [[1, 0], [1, 1]]),
    ],
)
def test_causal_biases(sizes, upper, lower):
    first, last = biases.causal_upper_left(*sizes), biases.causal_lower_right(*sizes)
    assert first.int().tolist() == upper
    assert last.int().tolist() == lower
    assert last.variant is biases.CausalVariant.LOWER_RIGHT
    assert (last.seq_len_q, last.seq_len_kv) == sizes
    q, k = flambeau.randn(1, sizes[0], 4), flambeau.randn(1, sizes[1], 4)
    near(
        F.scaled_dot_product_attention(q, k, k, first),
        F.scaled_dot_product_attention(q, k, k, is_causal=True),
    )
    near(
        F.scaled_dot_product_attention(q, k, k, last)[:, -1:],
        F.scaled_dot_product_attention(q[:, -1:], k, k),
    )


def test_mistakes_with_biases():
    with pytest.warns(UserWarning, match="the first 2 queries without a key"):
        biases.causal_lower_right(3, 1)
    with pytest.raises(RuntimeError, match="number of queries and the number of keys"):
        biases.causal_upper_left(3)
    with pytest.raises(TypeError, match="CausalVariant first"):
        biases.CausalBias(1, 2, 3)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["causal_upper_left", "causal_lower_right"])
def test_biases_against_torch(name):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torch.nn.attention.bias")
    q, k = np.random.default_rng(0).standard_normal((2, 1, 2, 6, 8)).astype("float32")
    q = q[:, :, :4]
    mine = F.scaled_dot_product_attention(
        *map(flambeau.tensor, (q, k, k)), getattr(biases, name)(4, 6)
    )
    expected = torch.nn.functional.scaled_dot_product_attention(
        *map(torch.tensor, (q, k, k)), getattr(theirs, name)(4, 6)
    )
    near(mine, expected)


def test_naming_kernels():
    x = flambeau.randn(1, 3, 4)
    expected = F.scaled_dot_product_attention(x, x, x)
    for named in (SDPBackend.MATH, [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
        with sdpa_kernel(named):
            near(F.scaled_dot_product_attention(x, x, x), expected)
    with pytest.raises(TypeError, match=r"SDPBackend\.MATH, not 'math'"), sdpa_kernel(["math"]):
        pass
    with pytest.raises(ValueError, match="at least one"), sdpa_kernel([]):
        pass


@pytest.mark.oracle
def test_kernels_are_those_of_torch():
    theirs = pytest.importorskip("torch.nn.attention").SDPBackend
    assert {b.name: b.value for b in SDPBackend} == {
        name: int(value) for name, value in theirs.__members__.items()
    }
