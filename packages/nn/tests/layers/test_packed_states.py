"""Weights as exporters pack them, packed here by the formats' descriptions, number by number."""

import numpy as np
import pytest

import flambeau
from flambeau import nn
from flambeau.nn.utils import load_quantized, unpack_state

AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
OUT, IN, GROUP = 16, 128, 32


def into(numbers, bits):
    """Along rows: the first number in the lowest bits."""
    per = 32 // bits
    n, k = numbers.shape
    to = np.zeros((n, -(-k // per)), np.uint32)
    for i in range(n):
        for j in range(k):
            to[i, j // per] |= np.uint32(int(numbers[i, j]) << bits * (j % per))
    return flambeau.tensor(to.view(np.int32))


def numbers(bits, seed=0):
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 2**bits, (OUT, IN))
    zeros = rng.integers(1, 2**bits, (OUT, IN // GROUP))
    scales = rng.random((OUT, IN // GROUP)).astype(np.float16)
    wide = [np.repeat(f.astype(np.float64), GROUP, 1) for f in (zeros, scales)]
    return whole, zeros, scales, (whole - wide[0]) * wide[1]


def check(state, want):
    got = state["layer.weight"].dequantize().double().numpy()
    assert np.abs(got - want).max() <= 1e-6 * np.abs(want).max()
    assert list(state) == ["other", "layer.weight"]
    linear = nn.Sequential()
    linear.layer = nn.Linear(IN, OUT, bias=False)
    linear.register_buffer("other", flambeau.zeros(1))
    x = flambeau.randn(3, IN)
    result = load_quantized(linear, state)(x).double().numpy()
    assert np.allclose(result, x.double().numpy() @ want.T, atol=1e-4 * np.abs(want).max())
    assert linear.other == 1


def of(**parts):
    return {"other": flambeau.ones(1), **{f"layer.{name}": t for name, t in parts.items()}}


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("v2", [False, True])
def test_gptq(bits, v2):
    whole, zeros, scales, want = numbers(bits)
    state = of(qweight=into(whole, bits).t().contiguous(),
               qzeros=into((zeros - (not v2)).T, bits),
               scales=flambeau.tensor(scales.T.copy()),
               g_idx=flambeau.arange(IN, dtype=flambeau.int32) // GROUP)
    check(unpack_state(state, gptq_v2=v2), want)


def test_awq():
    whole, zeros, scales, want = numbers(4)

    def interleaved(t):
        return t.reshape(len(t), -1, 8)[:, :, AWQ_ORDER].reshape(len(t), -1)

    state = of(qweight=into(interleaved(whole.T), 4), qzeros=into(interleaved(zeros.T), 4),
               scales=flambeau.tensor(scales.T.copy()))
    check(unpack_state(state), want)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zero", [False, True])
def test_compressed_tensors(bits, zero):
    whole, zeros, scales, want = numbers(bits)
    parts = {"weight_packed": into(whole, bits), "weight_scale": flambeau.tensor(scales),
             "weight_shape": flambeau.tensor([OUT, IN])}
    if zero:
        parts["weight_zero_point"] = into(zeros.T, bits).t().contiguous()
    else:
        want = (whole - 2 ** (bits - 1)) * np.repeat(scales.astype(np.float64), GROUP, 1)
    check(unpack_state(of(**parts)), want)


@pytest.mark.parametrize("groups", [1, IN // GROUP])
def test_bytes_with_scales(groups):
    rng = np.random.default_rng(0)
    whole = rng.integers(-128, 128, (OUT, IN)).astype(np.int8)
    scales = rng.random((OUT, groups)).astype(np.float32)
    want = whole * np.repeat(scales.astype(np.float64), IN // groups, 1)
    check(unpack_state(of(weight=flambeau.tensor(whole), weight_scale=flambeau.tensor(scales))),
          want)


def gptq():
    whole, zeros, scales, _ = numbers(4)
    return {"qweight": into(whole, 4).t().contiguous(), "qzeros": into(zeros.T - 1, 4),
            "scales": flambeau.tensor(scales.T.copy())}


@pytest.mark.parametrize(("change", "words"), [
    ({"scales": None}, "no scales"),
    ({"g_idx": flambeau.arange(IN).flip(0) // GROUP}, "desc_act"),
    ({"qzeros": flambeau.ones(4, 1, dtype=flambeau.int32)}, "do not fit four or eight"),
    ({"qweight": flambeau.ones(15, 7, dtype=flambeau.int32)}, "do not fit four or eight"),
    ({"qweight": flambeau.ones(15, 16, dtype=flambeau.int32)}, "4 scales for 120"),
    ({"scales": flambeau.ones(16)}, "must be matrices"),
], ids=["missing", "order", "bits", "shape", "groups", "vector"])
def test_what_does_not_fit_is_refused(change, words):
    parts = {**gptq(), **change}
    with pytest.raises(ValueError, match=words):
        unpack_state(of(**{name: t for name, t in parts.items() if t is not None}))


def test_a_quantized_weight_needs_a_layer_of_its_shape():
    state = unpack_state({f"0.{name}": t for name, t in gptq().items()})
    with pytest.raises(ValueError, match="has no Linear of that shape"):
        load_quantized(nn.Sequential(nn.Linear(IN, OUT + 1)), state)
