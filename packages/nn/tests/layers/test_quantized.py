"""Copies of networks whose weights are int8."""

import pytest

import flambeau
from flambeau import nn
from flambeau.nn.utils import QuantizedEmbedding, QuantizedLinear, quantize_dynamic


class Tied(nn.Module):
    """A table that is the last layer's weight as well."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.last = nn.Linear(16, 50, bias=False)
        self.last.weight = self.table.weight

    def forward(self, x):
        return self.last(self.table(x))


def network():
    flambeau.manual_seed(0)
    return nn.Sequential(nn.Embedding(100, 64), nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10))


def test_outputs_are_near_and_the_original_stays():
    model, words = network(), flambeau.randint(0, 100, (4, 7))
    want = model(words)
    quantized = quantize_dynamic(model)
    assert [type(layer) for layer in quantized] == [QuantizedEmbedding, QuantizedLinear, nn.GELU,
                                                    QuantizedLinear]
    assert type(model[1]) is nn.Linear and flambeau.equal(model(words), want)
    assert (quantized(words) - want).abs().max() < 0.02 * want.abs().max()


def test_bytes_are_a_quarter():
    def size(module):
        return sum(t.numel() * t.itemsize for t in module.state_dict().values())

    model = network()
    assert size(quantize_dynamic(model)) < 0.3 * size(model)


def test_weights_that_layers_share_stay_shared():
    tied = quantize_dynamic(Tied())
    assert tied.table.weight is tied.last.weight and tied.table.scales is tied.last.scales
    layer = nn.Linear(4, 4)
    twice = quantize_dynamic(nn.Sequential(layer, nn.ReLU(), layer))
    assert twice[0] is twice[2]


def test_kinds_names_and_single_layers():
    model = network()
    assert type(quantize_dynamic(model, kinds=(nn.Linear,))[0]) is nn.Embedding
    assert type(quantize_dynamic(model, skip=lambda name, _: name == "3")[3]) is nn.Linear
    assert type(quantize_dynamic(nn.Linear(3, 2))) is QuantizedLinear
    with pytest.raises(ValueError, match="Conv2d has no quantized form"):
        quantize_dynamic(model, kinds=(nn.Conv2d,))


def test_state_and_casts(tmp_path):
    model = quantize_dynamic(network())
    flambeau.save(model.state_dict(), tmp_path / "state")
    other = quantize_dynamic(nn.Sequential(nn.Embedding(100, 64), nn.Linear(64, 128), nn.GELU(),
                                           nn.Linear(128, 10)))
    other.load_state_dict(flambeau.load(tmp_path / "state"))
    words = flambeau.randint(0, 100, (3,))
    assert flambeau.equal(other(words), model(words))
    layer = model[1].half()
    assert layer.weight.dtype is flambeau.int8 and layer.scales.dtype is flambeau.float32
    assert layer(flambeau.randn(2, 64).half()).dtype is flambeau.float16


def test_layers_before_learn_through_it():
    layer = nn.Linear(8, 5)
    x = flambeau.randn(3, 8, requires_grad=True)
    quantize_dynamic(layer)(x).sum().backward()
    assert (x.grad - layer.weight.sum(0)).abs().max() < 0.05


def test_programs_and_compile_give_the_same_bits():
    jit = pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    model, words = quantize_dynamic(network()), flambeau.randint(0, 100, (4, 7))
    want = model(words)
    assert flambeau.equal(jit.trace(model, words)(words), want)
    assert flambeau.equal(flambeau.compile(model)(words), want)


def test_what_cannot_be_rounded_is_refused():
    layer = nn.Linear(3, 2)
    with flambeau.no_grad():
        layer.weight[0, 0] = float("nan")
    with pytest.raises(ValueError, match="infinite or NaN"):
        quantize_dynamic(layer)
    with pytest.raises(ValueError, match="max_norm"):
        quantize_dynamic(nn.Embedding(3, 2, max_norm=1.0))
    zero = nn.Linear(3, 2, bias=False)
    nn.init.zeros_(zero.weight)
    assert (quantize_dynamic(zero)(flambeau.ones(1, 3)) == 0).all()
