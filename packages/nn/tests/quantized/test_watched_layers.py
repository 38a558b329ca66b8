"""Which layers `prepare` watches, with what, and what `convert` makes of them."""
from __future__ import annotations

import pytest

import flambeau as fl
from flambeau import nn
from flambeau.ao import quantization as q
from flambeau.ao.nn import quantized
from flambeau.ao.nn.intrinsic import qat

WATCHER = "activation_post_process"


def between(*layers: nn.Module) -> nn.Sequential:
    network = nn.Sequential(q.QuantStub(), *layers, q.DeQuantStub())
    network.qconfig = q.default_qconfig
    return network


@pytest.mark.parametrize("layer", [nn.Sigmoid(), nn.Tanh(), nn.Softmax(1), nn.Hardsigmoid()])
def test_a_known_range_is_watched_in_training_alone(layer):
    assert not hasattr(q.prepare(between(layer).eval())[1], WATCHER)
    made = q.prepare(between(layer).train())[1]
    assert type(made.activation_post_process) is q.FixedQParamsFakeQuantize
    named = q.prepare(between(layer).train(), observer_non_leaf_module_list=[type(layer)])[1]
    assert type(named.activation_post_process) is q.MinMaxObserver


@pytest.mark.parametrize("layer", [nn.Dropout(), nn.GELU(), nn.MaxPool2d(2), nn.Identity()])
def test_what_has_the_scale_of_its_input_is_not_watched(layer):
    assert not hasattr(q.prepare(between(layer))[1], WATCHER)
    network = nn.Sequential(layer, nn.Linear(2, 2))
    network.qconfig = q.default_qconfig
    assert hasattr(q.prepare(network)[1], WATCHER)


def test_a_transposed_convolution_takes_no_scales_by_channel():
    network = between(nn.ConvTranspose2d(2, 2, 1)).eval()
    network.qconfig = q.get_default_qconfig("x86")
    with pytest.raises(AssertionError, match="ConvTranspose2d takes no configuration"):
        q.prepare(network)
    network[1].qconfig = None
    assert not hasattr(q.prepare(network)[1], WATCHER)


def test_a_range_of_the_last_input_is_watched_in_front():
    network = nn.Sequential(nn.Linear(3, 3))
    network.qconfig = q.default_dynamic_qat_qconfig
    layer = q.prepare_qat(network.train(), {nn.Linear: fl.ao.nn.qat.dynamic.Linear})[0]
    x = fl.randn(4, 3)
    layer(x)
    assert fl.equal(layer.activation_post_process.activation_post_process.max_val, x.max())


class Float(nn.Module):
    """A layer of a user's."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        return self.inner(x)


class Observed(nn.Module):
    """It, with an observer behind it."""

    @classmethod
    def from_float(cls, layer):
        made = cls()
        made.inner, made.qconfig = layer.inner, layer.qconfig
        return made

    def forward(self, x):
        return self.inner(x)


class Integers(nn.Module):
    """It, of integers."""

    @classmethod
    def from_observed(cls, layer):
        made = cls()
        layer.inner.activation_post_process = layer.activation_post_process
        made.inner = quantized.Linear.from_float(layer.inner)
        return made

    def forward(self, x):
        return self.inner(x)


def test_layers_of_a_user_are_replaced_as_they_say():
    network, x = between(Float()).eval(), fl.randn(5, 3)
    plain = between(network[1].inner).eval()
    ready = q.prepare(network, prepare_custom_config_dict={
        "float_to_observed_custom_module_class": {Float: Observed}})
    ready(x)
    assert type(ready[1]) is Observed and not hasattr(ready[1].inner, WATCHER)
    done = q.convert(ready, convert_custom_config_dict={
        "observed_to_quantized_custom_module_class": {Observed: Integers}})
    assert type(done[1]) is Integers and type(done[1].inner) is quantized.Linear
    other = q.prepare(plain)
    other(x)
    assert fl.equal(done(x), q.convert(other)(x))


def test_layers_that_cannot_be_followed_keep_no_configuration():
    network = between(nn.Linear(3, 3), nn.Linear(3, 3))
    q.propagate_qconfig_(network, prepare_custom_config_dict={"non_traceable_module_name": ["2"]})
    assert network[1].qconfig is not None and not hasattr(network[2], "qconfig")


def test_replacements_by_class():
    assert q.get_static_quant_module_class(nn.Linear) is quantized.Linear
    assert q.get_dynamic_quant_module_class(nn.GELU, {nn.GELU: Integers}) is Integers
    assert nn.Embedding in q.get_embedding_qat_module_mappings()
    assert nn.Embedding not in q.get_default_qat_module_mappings()
    with pytest.raises(AssertionError, match="does not have a corresponding"):
        q.get_static_quant_module_class(nn.GELU)


@pytest.mark.parametrize("kind", [qat.ConvBn2d, qat.ConvBnReLU2d])
def test_layers_with_a_batch_norm_are_made_by_hand(kind):
    config = q.get_default_qat_qconfig("qnnpack")
    layer = kind(2, 4, 3, padding=1, bias=True, eps=0.1, momentum=0.5, freeze_bn=True,
                 qconfig=config)
    assert layer.bn.eps == 0.1 and not layer.bn.training and layer.bias.shape == (4,)
    x = fl.randn(2, 2, 5, 5)
    wanted = layer.to_float().eval()(x)
    assert (layer(x) - wanted).abs().max() < 0.05
    line = qat.LinearBn1d(3, 2, momentum=0.25, qconfig=config)
    assert line.bn.momentum == 0.25 and line(fl.randn(4, 3)).shape == (4, 2)
    with pytest.raises(AssertionError, match="qconfig must be given"):
        kind(2, 4, 3)


X = fl.quantize_per_tensor(fl.randn(2, 4, 3, 3), 0.02, 128, fl.quint8)


@pytest.mark.parametrize(("made", "plain"), [
    (quantized.ELU(0.05, 10, 0.5), nn.ELU(0.5)),
    (quantized.Hardswish(0.05, 10), nn.Hardswish()),
    (quantized.LeakyReLU(0.05, 10, 0.2), nn.LeakyReLU(0.2)),
    (quantized.Sigmoid(0.05, 10), nn.Sigmoid()),
    (quantized.Softmax(1, 0.05, 10), nn.Softmax(1)),
    (quantized.LayerNorm([3, 3], nn.Parameter(fl.full((3, 3), 2.0)), None, 0.05, 10),
     lambda x: nn.functional.layer_norm(x, [3, 3], fl.full((3, 3), 2.0))),
    (quantized.GroupNorm(2, 4, nn.Parameter(fl.full((4,), 2.0)), None, 0.05, 10, 0.5),
     lambda x: nn.functional.group_norm(x, 2, fl.full((4,), 2.0), None, 0.5)),
    (quantized.InstanceNorm2d(4, nn.Parameter(fl.full((4,), 2.0)), None, 0.05, 10),
     lambda x: nn.functional.instance_norm(x, weight=fl.full((4,), 2.0))),
    (quantized.BatchNorm2d(4, 0.5), nn.BatchNorm2d(4, 0.5).eval()),
], ids=lambda each: type(each).__name__)
def test_layers_made_by_hand_take_scale_and_zero_point_where_pytorch_does(made, plain):
    """Also in training mode, in which layers begin: integers have no batch statistics."""
    got = made(X)
    wanted = fl.quantize_per_tensor(plain(X.dequantize()).detach(), got.q_scale(),
                                    got.q_zero_point(), fl.quint8)
    assert fl.equal(got.int_repr(), wanted.int_repr())


def test_slopes_are_integers_too():
    layer = nn.PReLU(4)
    layer.qconfig = q.QConfig(q.default_observer, q.default_weight_observer)
    layer.activation_post_process = q.default_observer()
    layer.activation_post_process(layer(X.dequantize()))
    with pytest.warns(UserWarning, match="slopes of PReLU"):
        quantized.PReLU.from_float(layer)
    layer.qconfig = q.QConfig(q.default_observer, q.default_observer)
    made = quantized.PReLU.from_float(layer)
    assert made.weight.dtype is fl.quint8
    assert (made.weight.dequantize() - 0.25).abs().max() < 0.01
    assert (made(X).dequantize() - layer(X.dequantize())).abs().max() < 0.03


@pytest.mark.parametrize("kind", ["GRU", "LSTM", "GRUCell", "LSTMCell", "RNNCell"])
@pytest.mark.parametrize("dtype", [fl.qint8, fl.float16])
def test_recurrent_layers_made_by_hand(kind, dtype):
    layer = getattr(quantized.dynamic, kind)(3, 4, dtype=dtype)
    assert not layer.training
    assert {w.dtype for name, w in layer.weights.items() if name.startswith("weight")} == {dtype}
    layer(fl.randn(2, 3))
