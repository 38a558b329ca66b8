"""Attention whose projections have weights in few bits."""

import copy

import pytest

import flambeau
from flambeau import nn

LAYERS = {
    "plain": lambda: nn.MultiheadAttention(32, 4, batch_first=True),
    "without bias": lambda: nn.MultiheadAttention(32, 4, bias=False),
    "other keys": lambda: nn.MultiheadAttention(32, 4, kdim=16, vdim=64, batch_first=True),
    "one more key": lambda: nn.MultiheadAttention(32, 4, add_bias_kv=True, add_zero_attn=True),
}
FORMS = {
    "dynamic": nn.utils.quantize_dynamic,
    "int8": lambda layer: nn.utils.quantize_weights(layer, "int8", group=0),
    "int4": lambda layer: nn.utils.quantize_weights(layer, "int4", group=32, symmetric=False),
    "float16": lambda layer: nn.utils.quantize_weights(layer, "float16"),
}


def rounded(layer, few):
    """The layer in float32 with the weights that the other one holds."""
    made = copy.deepcopy(layer).eval()

    def matrix(part):
        if isinstance(part, nn.utils.QuantizedLinear):
            return part.weight.float() * part.scales[:, None]
        return nn.utils.QuantizedWeight(part.weight, part.scales, part.offsets, part.group,
                                        part.columns).dequantize()

    with flambeau.no_grad():
        made.out_proj.weight.copy_(matrix(few.out_proj))
        for name in ("in_proj", "q_proj", "k_proj", "v_proj"):
            if hasattr(few, name):
                getattr(made, f"{name}_weight").copy_(matrix(getattr(few, name)))
    return made


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LAYERS)
def test_against_the_layer_with_rounded_weights(name, form):
    layer = LAYERS[name]()
    if layer.in_proj_bias is not None:
        nn.init.normal_(layer.in_proj_bias)
    few = FORMS[form](layer)
    same = rounded(layer, few)
    x = flambeau.randn(3, 5, 32)
    inputs = [(x, flambeau.randn(3, 5, layer.kdim), flambeau.randn(3, 5, layer.vdim))]
    if layer.kdim == 32:
        other = flambeau.randn(3, 5, 32)
        inputs += [(x, x, x), (x, other, other)]
    # The dynamic form rounds inputs too.
    close = {"atol": 0.05} if form == "dynamic" else {"atol": 1e-5}
    for given in inputs:
        for found, wanted in zip(few(*given), same(*given), strict=True):
            assert flambeau.allclose(found, wanted, **close)


@pytest.mark.parametrize("form", FORMS)
def test_all_at_once_and_apart_have_the_same_bits(form):
    few = FORMS[form](LAYERS["plain"]())
    x = flambeau.randn(2, 3, 32)
    together, apart = few(x, x, x)[0], few(x, x.clone(), x.clone())[0]
    assert flambeau.equal(together, apart)
    assert flambeau.equal(few(x, x.clone(), x)[0], apart)
    assert flambeau.equal(few(x[0], x[0], x[0])[0], apart[0])


def test_a_network_becomes_a_quarter():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(
        64, 4, 256, batch_first=True, activation="gelu"), 2).eval()
    small = nn.utils.quantize_dynamic(model)
    x, padding = flambeau.randn(2, 7, 64), flambeau.zeros(2, 7, dtype=flambeau.bool)
    padding[1, 5:] = True
    found, wanted = (m(x, src_key_padding_mask=padding) for m in (small, model))
    assert found.shape == wanted.shape
    assert (found - wanted).abs().max() < 0.2

    def size(module):
        return sum(t.numel() * t.element_size() for t in module.state_dict().values())

    assert size(small) < 0.28 * size(model)
    assert not any("in_proj_bias" in name for name in small.state_dict())
    kept = nn.utils.quantize_dynamic(model, kinds=(nn.Linear,))
    assert type(kept.layers[0].self_attn) is nn.MultiheadAttention


def test_programs_and_state(tmp_path):
    jit = pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    few, x = nn.utils.quantize_dynamic(LAYERS["plain"]()), flambeau.randn(2, 3, 32)
    wanted = few(x, x, x, need_weights=False)[0]
    program = jit.trace(lambda x: few(x, x, x, need_weights=False)[0], x)
    assert flambeau.equal(program(x), wanted)
    other = nn.utils.quantize_dynamic(LAYERS["plain"]())
    flambeau.save(few.state_dict(), tmp_path / "state")
    other.load_state_dict(flambeau.load(tmp_path / "state"))
    assert flambeau.equal(other(x, x, x)[0], few(x, x, x)[0])
