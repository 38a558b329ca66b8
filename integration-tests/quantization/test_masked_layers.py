"""Layers whose weights are parametrized are quantized as their weights' values are."""

import copy

import pytest

import flambeau as fl
from flambeau import nn
from flambeau.ao import quantization as q
from flambeau.ao.nn import intrinsic, quantized
from flambeau.ao.quantization import quantize_fx
from flambeau.nn.utils import parametrize


class Masked(nn.Module):
    """Every other column of a weight is zero."""

    def forward(self, weight):
        mask = fl.ones_like(weight)
        mask[:, ::2] = 0
        return weight * mask


def network(training=False):
    fl.manual_seed(0)
    model = nn.Sequential(q.QuantStub(), nn.Conv2d(2, 3, 1), nn.ReLU(), nn.Flatten(),
                          nn.Linear(12, 4), q.DeQuantStub())
    for layer in (model[1], model[4]):
        parametrize.register_parametrization(layer, "weight", Masked())
    return model.train(training)


def plain(model):
    """The same network, with the weights as they are."""
    made = copy.deepcopy(model)
    for layer in (made[1], made[4]):
        parametrize.remove_parametrizations(layer, "weight")
    return made


X = fl.linspace(-2, 3, 80).reshape(10, 2, 2, 2)


def eager(model, fuse):
    model.qconfig = q.get_default_qconfig("fbgemm")
    if fuse:
        model = q.fuse_modules(model, [["1", "2"]])
    prepared = q.prepare(model)
    assert hasattr(prepared[4], "activation_post_process")
    prepared(X)
    return q.convert(prepared)


@pytest.mark.parametrize("fuse", [False, True])
def test_eager_networks(fuse):
    made, wanted = eager(network(), fuse), eager(plain(network()), fuse)
    assert type(made[1]) is (intrinsic.quantized.ConvReLU2d if fuse else quantized.Conv2d)
    assert type(made[4]) is quantized.Linear
    assert made[4].weight().int_repr().equal(wanted[4].weight().int_repr())
    assert made[4].weight().dequantize()[:, ::2].eq(0).all()
    assert made(X).equal(wanted(X))


def test_training_with_rounding_trains_what_masks_are_computed_from():
    models = []
    for model in (network(True), plain(network(True))):
        model.qconfig = q.get_default_qat_qconfig("fbgemm")
        prepared = q.prepare_qat(model)
        prepared(X).pow(2).sum().backward()
        models.append(prepared)
    masked, other = models
    assert parametrize.is_parametrized(masked[4], "weight")
    original = masked[4].parametrizations.weight.original
    assert original.grad[:, ::2].eq(0).all() and original.grad[:, 1::2].ne(0).any()
    assert original.grad[:, 1::2].equal(other[4].weight.grad[:, 1::2])
    made, wanted = (q.convert(model.eval()) for model in models)
    assert type(made[4]) is quantized.Linear and made(X).equal(wanted(X))


@pytest.mark.parametrize("training", [False, True])
def test_graphs(training):
    results = []
    for model in (network(training), plain(network(training))):
        config = (q.get_default_qat_qconfig if training else q.get_default_qconfig)("fbgemm")
        prepare = quantize_fx.prepare_qat_fx if training else quantize_fx.prepare_fx
        bare = nn.Sequential(*list(model)[1:-1]).train(training)
        prepared = prepare(bare, q.QConfigMapping().set_global(config), (X,))
        prepared(X)
        results.append(quantize_fx.convert_fx(prepared.eval()))
    made, wanted = results
    assert any(type(part) is quantized.Linear for part in made.modules())
    assert any(type(part) is intrinsic.quantized.ConvReLU2d for part in made.modules())
    assert made(X).equal(wanted(X))


def test_graphs_of_reference_layers():
    bare = nn.Sequential(*list(network())[1:-1])
    prepared = quantize_fx.prepare_fx(
        bare, q.QConfigMapping().set_global(q.get_default_qconfig("fbgemm")), (X,))
    prepared(X)
    made = quantize_fx.convert_to_reference_fx(prepared)
    layer = next(part for part in made.modules() if type(part) is quantized.reference.Linear)
    assert layer.weight[:, ::2].eq(0).all() and isinstance(layer.weight, nn.Parameter)
