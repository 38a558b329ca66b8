"""LSTM and attention quantized part by part, and reference layers."""
from __future__ import annotations

import importlib
import io

import numpy as np
import pytest

import flambeau as fl
from flambeau import nn
from flambeau.ao import quantization as q
from flambeau.ao.nn import qat, quantizable, quantized
from flambeau.ao.nn.quantized import reference
from flambeau.ao.quantization.utils import get_qparam_dict


def given(lib, *shape):
    return lib.from_numpy(np.random.default_rng(7).standard_normal(shape).astype(np.float32))


def filled(lib, made):
    rng = np.random.default_rng(5)
    with lib.no_grad():
        for _, value in sorted(made.named_parameters()):
            numbers = rng.standard_normal(tuple(value.shape)).astype(np.float32) * 0.4
            value.copy_(lib.from_numpy(np.asarray(numbers)))
    return made.eval()


def lstm(lib, **options):
    layers = importlib.import_module(f"{lib.__name__}.nn")
    settings = importlib.import_module(f"{lib.__name__}.ao.quantization")
    network = layers.Sequential(filled(lib, layers.LSTM(6, 5, 2, **options))).eval()
    network.qconfig = settings.get_default_qconfig("x86")
    ready = settings.prepare(network)
    x = given(lib, 4, 3, 6)
    watched = ready(x)
    made = settings.convert(ready)
    integers = lib.quantize_per_tensor(x, 0.04, 64, lib.quint8)
    return network(x), watched, made, made(integers)


OPTIONS = [{}, {"bidirectional": True}, {"batch_first": True}, {"bias": False}]


@pytest.mark.parametrize("options", OPTIONS)
def test_lstm(options):
    wanted, watched, made, got = lstm(fl, **options)
    for a, b in zip((wanted[0], *wanted[1]), (watched[0], *watched[1]), strict=True):
        assert a.shape == b.shape and a.sub(b).abs().max() < 1e-5
    assert type(made[0]) is quantized.LSTM and got[0].is_quantized
    assert got[0].dequantize().sub(wanted[0]).abs().mean() < 0.05
    assert [tuple(s.shape) for s in got[1]] == [tuple(s.shape) for s in wanted[1]]


def test_lstm_without_batch():
    layer = quantizable.LSTM(6, 5, 2, bidirectional=True).eval()
    x, states = fl.randn(4, 6), (fl.randn(4, 5), fl.randn(4, 5))
    wanted = layer(x.unsqueeze(1), tuple(s.unsqueeze(1) for s in states))
    out, last = layer(x, states)
    assert out.equal(wanted[0].squeeze(1)) and last[0].equal(wanted[1][0].squeeze(1))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", OPTIONS)
def test_lstm_as_in_pytorch(options):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    _, _, ours, got = lstm(fl, **options)
    _, _, theirs, wanted = lstm(torch, **options)
    mine, other = ours.state_dict(), theirs.state_dict()
    assert sorted(mine) == sorted(other)
    for key in mine:
        if key.endswith((".scale", "zero_point")):
            assert float(mine[key]) == pytest.approx(float(other[key]), rel=0.03, abs=1.01), key
    scale = wanted[0].q_scale()
    difference = np.abs(got[0].dequantize().numpy() - wanted[0].dequantize().numpy())
    assert difference.mean() < 2 * scale and difference.max() < 8 * scale


def attention(lib, masks, **options):
    layers = importlib.import_module(f"{lib.__name__}.nn")
    settings = importlib.import_module(f"{lib.__name__}.ao.quantization")

    class Looking(layers.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = settings.QuantStub(), settings.DeQuantStub()
            self.layer = filled(lib, layers.MultiheadAttention(8, 2, **options))

        def forward(self, x):
            x = self.quant(x)
            padding = lib.tensor([[False] * 4, [False, True, True, False], [False] * 4])
            mask = lib.triu(lib.ones(4, 4, dtype=lib.bool), 1)
            out, weights = self.layer(x, x, x, padding if masks else None,
                                      attn_mask=mask if masks else None)
            return self.dequant(out), self.dequant(weights)

    network = Looking().eval()
    network.qconfig = settings.get_default_qconfig("x86")
    x = given(lib, *((3, 4, 8) if options.get("batch_first") else (4, 3, 8)))
    wanted = network(x)
    ready = settings.prepare(network)
    watched = ready(x)
    made = settings.convert(ready)
    return wanted, watched, made, made(x)


CHOICES = [{}, {"add_bias_kv": True, "add_zero_attn": True}, {"batch_first": True},
           {"bias": False}]


@pytest.mark.parametrize("options", CHOICES)
@pytest.mark.parametrize("masks", [False, True])
def test_attention(options, masks):
    wanted, watched, made, got = attention(fl, masks, **options)
    for a, b in zip(wanted, watched, strict=True):
        assert a.shape == b.shape and a.sub(b).abs().max() < 1e-4
    assert type(made.layer) is quantized.MultiheadAttention
    assert got[0].sub(wanted[0]).abs().mean() < 0.1 and got[1].sub(wanted[1]).abs().mean() < 0.02
    plain = made.layer.dequantize()
    assert type(plain) is nn.MultiheadAttention


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_attention_as_in_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    _, _, ours, got = attention(fl, False)
    _, _, theirs, wanted = attention(torch, False)
    keys = set(theirs.state_dict())
    assert set(ours.state_dict()) == keys
    scale = float(theirs.layer.out_proj.scale)
    assert np.abs(got[0].numpy() - wanted[0].detach().numpy()).mean() < 2 * scale


LAYERS = {"Linear": (lambda: nn.Linear(6, 4), (3, 6)),
          "Conv1d": (lambda: nn.Conv1d(6, 4, 2), (3, 6, 5)),
          "Conv2d": (lambda: nn.Conv2d(2, 4, 2, padding="same"), (3, 2, 5, 4)),
          "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 4, 2, 2, output_padding=1),
                              (3, 2, 5, 4)),
          "LSTM": (lambda: nn.LSTM(6, 5, 2), (4, 3, 6)),
          "GRUCell": (lambda: nn.GRUCell(6, 5), (3, 6))}


@pytest.mark.parametrize("name", LAYERS)
def test_reference_layers(name):
    make, shape = LAYERS[name]
    layer, x = make().eval(), fl.randn(*shape)
    layer.qconfig = q.default_qconfig
    made = q.convert(nn.Sequential(layer), is_reference=True)[0]
    assert type(made) is getattr(reference, name)
    for key, value in dict(layer.named_parameters()).items():
        if key.startswith("weight"):
            observer = q.default_weight_observer()
            observer(value.detach())
            scale, zero = observer.calculate_qparams()
            value.data.copy_(fl.quantize_per_tensor(value.detach(), float(scale), int(zero),
                                                    fl.qint8).dequantize())
    for a, b in zip(flat(made(x)), flat(layer(x)), strict=True):
        assert a.sub(b).abs().max() < 1e-6


def flat(result):
    if isinstance(result, tuple):
        return [leaf for part in result for leaf in flat(part)]
    return [result]


def test_reference_states():
    layer, other = nn.Linear(6, 4), nn.Linear(6, 4)
    for each in (layer, other):
        each.qconfig = q.default_per_channel_qconfig
    first, second = (q.convert(nn.Sequential(each), is_reference=True) for each in (layer, other))
    file = io.BytesIO()
    fl.save(first.state_dict(), file)
    file.seek(0)
    second.load_state_dict(fl.load(file))
    x = fl.randn(3, 6)
    assert first(x).equal(second(x))
    assert "0.weight_scale" in first.state_dict() and "0.weight_axis" in first.state_dict()


def test_decomposed_weights():
    layer = nn.Linear(2, 2)
    observer = q.default_symmetric_qnnpack_qconfig.weight()
    observer(layer.weight.detach())
    facts = get_qparam_dict(observer)
    plain = reference.Linear.from_float(layer, facts)
    shown = reference.Linear.from_float(layer, {**facts, "is_decomposed": True})
    x = fl.randn(3, 2)
    assert plain(x).sub(shown(x)).abs().max() < 1e-6
    assert plain.get_quantized_weight().dtype is fl.qint8


def test_training_layers_refuse_what_does_not_fit():
    with pytest.raises(AssertionError, match="per_channel_affine_float_qparams"):
        qat.EmbeddingBag(10, 5, qconfig=q.get_default_qat_qconfig())
    with pytest.raises(AssertionError, match=r"qat.EmbeddingBag.from_float\(\)"):
        qat.EmbeddingBag.from_float(nn.Embedding(10, 5))
    with pytest.raises(ValueError, match="memoryless"):
        qat.dynamic.Linear(2, 2, qconfig=q.default_qat_qconfig)


def test_a_shared_fake_quantization_has_gradients():
    rounding = q.default_fused_act_fake_quant()
    x = fl.randn(4, requires_grad=True)
    rounding(rounding(x) * 3).sum().backward()
    assert x.grad is not None


def test_trained_layers_are_converted_without_a_run():
    network = q.QuantWrapper(nn.Linear(4, 4)).train()
    network.qconfig = q.get_default_qat_qconfig("x86")
    with pytest.warns(UserWarning, match="has seen no numbers"):
        made = q.convert(q.prepare_qat(network))
    assert made.module.weight().q_per_channel_scales().shape == (4,)


def test_inputs_of_layers_by_name():
    network = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    x = fl.randn(1, 2)
    found = q.get_fqn_to_example_inputs(network, (x,))
    assert found[""][0] is x and found["0"][0] is x and tuple(found["1"][0].shape) == (1, 3)


def test_states_of_observers():
    def ready():
        network = q.QuantWrapper(nn.Linear(2, 3)).eval()
        network.qconfig = q.default_qconfig
        return q.prepare(network)

    first, second = ready(), ready()
    first(fl.randn(5, 2))
    q.load_observer_state_dict(second, q.get_observer_state_dict(first))
    assert second.quant.activation_post_process.calculate_qparams() == \
        first.quant.activation_post_process.calculate_qparams()
    with pytest.raises(RuntimeError, match="missing are"):
        q.load_observer_state_dict(second, {})
