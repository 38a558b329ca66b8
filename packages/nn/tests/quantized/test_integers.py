"""Layers of integers: kernels and floats give the same bits, and weights are laid out once."""
from __future__ import annotations

import copy
import pickle
from functools import partial

import numpy as np
import pytest

import flambeau as fl
import flambeau.ao.nn.quantized._integers as integers
from flambeau import nn
from flambeau.ao import quantization as q
from flambeau.ao.nn import intrinsic, quantized
from flambeau.ao.nn.quantized import functional


def by_floats(monkeypatch, call):
    """What a call gives where kernels have no form for any weight."""
    with monkeypatch.context() as patch:
        patch.setattr(integers, "packed", lambda *_: None)
        return call()


def check(monkeypatch, call):
    got, wanted = call(), by_floats(monkeypatch, call)
    assert got.shape == wanted.shape and got.dtype is wanted.dtype
    assert (got.q_scale(), got.q_zero_point()) == (wanted.q_scale(), wanted.q_zero_point())
    assert fl.equal(got.int_repr(), wanted.int_repr())
    return got


def random(rng, shape, scale, zero, dtype):
    return fl.quantize_per_tensor(fl.from_numpy(rng.standard_normal(shape).astype(np.float32)),
                                  scale, zero, dtype)


def weight_of(rng, shape, by_channel):
    values = fl.from_numpy(rng.standard_normal(shape).astype(np.float32))
    if not by_channel:
        return fl.quantize_per_tensor(values, 0.02, 0, fl.qint8)
    scales = fl.from_numpy(rng.random(shape[0]) * 0.02 + 0.01)
    return fl.quantize_per_channel(values, scales, fl.zeros(shape[0]).long(), 0, fl.qint8)


OPTIONS = [{}, {"padding": 1}, {"stride": 2, "padding": 2}, {"dilation": 2},
           {"padding": "same"}, {"padding": "valid", "stride": 2}, {"groups": 2, "padding": 1},
           {"padding": 1, "padding_mode": "reflect"}]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("size", [2, 3])
def test_convolutions(monkeypatch, n, relu, options, size):
    rng = np.random.default_rng(n)
    kind = getattr(intrinsic.quantized if relu else quantized, f"Conv{'ReLU' * relu}{n}d")
    for by_channel, dtype, zero in ((False, fl.quint8, 0), (True, fl.quint8, 255),
                                    (True, fl.qint8, -128)):
        layer = kind(4, 6, size, **options)
        layer.set_weight_bias(weight_of(rng, layer.weight().shape, by_channel),
                              fl.from_numpy(rng.standard_normal(6).astype(np.float32)))
        layer.scale, layer.zero_point = 0.1, 60
        x = random(rng, (2, 4, *[7] * n), 0.03, zero, dtype)
        whole = check(monkeypatch, partial(layer, x))
        assert fl.equal(layer(x[0]).int_repr(), whole[0].int_repr())
        assert layer(x[:0]).shape == (0, *whole.shape[1:])


def test_one_channel_for_each(monkeypatch):
    rng = np.random.default_rng(1)
    layer = quantized.Conv2d(70, 70, 3, padding=1, groups=70)
    layer.set_weight_bias(weight_of(rng, (70, 1, 3, 3), True), None)
    layer.scale = 0.05
    x = random(rng, (2, 70, 5, 6), 0.03, 128, fl.quint8)
    check(monkeypatch, lambda: layer(x))


@pytest.mark.parametrize("shape", [(3, 600), (600,), (2, 3, 600), (0, 600), (2, 0, 600)], ids=str)
@pytest.mark.parametrize("by_channel", [False, True])
def test_linear(monkeypatch, shape, by_channel):
    rng = np.random.default_rng(2)
    layer = quantized.Linear(600, 33)
    layer.set_weight_bias(weight_of(rng, (33, 600), by_channel),
                          fl.from_numpy(rng.standard_normal(33).astype(np.float32)))
    layer.scale, layer.zero_point = 0.1, 60
    x = random(rng, shape, 0.03, 100, fl.quint8)
    check(monkeypatch, lambda: layer(x))
    check(monkeypatch, lambda: functional.linear(x, layer.weight(), layer.bias(), 0.1, 3))
    with pytest.raises(RuntimeError):
        layer(random(rng, (3, 5), 0.1, 0, fl.quint8))


def test_functions_take_numbers_and_lists(monkeypatch):
    rng = np.random.default_rng(3)
    x, weight = random(rng, (1, 2, 6, 6), 0.1, 7, fl.quint8), weight_of(rng, (3, 2, 3, 3), True)
    for stride, padding in ((1, 0), ([2, 1], (1, 0)), ((2,), "valid")):
        check(monkeypatch, lambda s=stride, p=padding: functional.conv2d(
            x, weight, None, s, p, scale=0.2, zero_point=9))


def test_weights_with_zero_points_go_by_floats_wide_enough(monkeypatch):
    """65,000 products of up to 255 * 255 have sums of 32 bits, which float32 would round."""
    rng = np.random.default_rng(4)
    layer = quantized.Linear(65_000, 2, False)
    numbers = fl.from_numpy(rng.integers(0, 256, (2, 65_000)).astype(np.float32))
    weight = fl.quantize_per_tensor(numbers, 1.0, -128, fl.qint8)
    layer.set_weight_bias(weight, None)
    x = fl.quantize_per_tensor(fl.from_numpy(rng.integers(0, 256, (3, 65_000)).astype(np.float32)),
                               1.0, 0, fl.quint8)
    sums = x.int_repr().numpy().astype(np.int64) @ (
        weight.int_repr().numpy().astype(np.int64) + 128).T
    layer.scale = float(sums.min()) / 100
    wanted = np.clip(np.rint(sums.astype(np.float32) * (
        np.float32(1) / np.float32(layer.scale))), 0, 255)
    np.testing.assert_array_equal(layer(x).int_repr().numpy(), wanted)
    assert integers.packed(weight, 1, 1) is None


def test_a_weight_is_laid_out_once_and_again_after_a_write(monkeypatch):
    rng = np.random.default_rng(5)
    layer = quantized.Conv2d(3, 5, 3)
    x = random(rng, (1, 3, 8, 8), 0.1, 7, fl.quint8)
    layer.set_weight_bias(weight_of(rng, (5, 3, 3, 3), True), None)
    check(monkeypatch, lambda: layer(x))
    first = integers.packed(layer.weight(), 1, 1)
    assert integers.packed(layer.weight(), 1, 1) is first
    layer.weight()._values.neg_()
    check(monkeypatch, lambda: layer(x))
    layer.weight().copy_(weight_of(rng, (5, 3, 3, 3), True))
    check(monkeypatch, lambda: layer(x))
    layer.set_weight_bias(weight_of(rng, (5, 3, 3, 3), False), None)
    check(monkeypatch, lambda: layer(x))


def test_files_and_copies_have_the_weight_alone():
    layer = quantized.Conv2d(3, 5, 3)
    before = len(pickle.dumps(layer.weight()))
    wanted = layer(fl.quantize_per_tensor(fl.ones(1, 3, 4, 4), 1.0, 0, fl.quint8))
    assert "_packed" in vars(layer.weight())
    assert len(pickle.dumps(layer.weight())) == before
    again = copy.deepcopy(layer)
    assert "_packed" not in vars(again.weight())
    assert sorted(layer.state_dict()) == ["bias", "scale", "weight", "zero_point"]
    assert fl.equal(again(fl.quantize_per_tensor(fl.ones(1, 3, 4, 4), 1.0, 0, fl.quint8)), wanted)


@pytest.mark.parametrize("name", ["add", "add_relu", "mul"])
@pytest.mark.parametrize("dtype", [fl.quint8, fl.qint8])
def test_sums_and_products(monkeypatch, name, dtype):
    rng = np.random.default_rng(6)
    layer = quantized.QFunctional()
    layer.scale, layer.zero_point = 0.07, 11
    x, y = random(rng, (2, 3, 5), 0.03, 5, dtype), random(rng, (2, 3, 5), 0.05, -3 + 9, dtype)
    got = getattr(layer, name)(x, y)
    a, b = x.dequantize(), y.dequantize()
    total = a * b if name == "mul" else a + b
    wanted = fl.quantize_per_tensor(total.relu() if name == "add_relu" else total, 0.07, 11, dtype)
    assert fl.equal(got, wanted)
    assert getattr(layer, name)(x, y[:1]).shape == (2, 3, 5)        # broadcast


@pytest.mark.parametrize("spec", [None, {"0": q.per_channel_dynamic_qconfig}])
def test_dynamic_layers_are_recorded_before_they_ran(spec):
    jit = pytest.importorskip("flambeau.jit", reason="needs flambeau-jit")
    network = q.quantize_dynamic(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)), spec)
    x = fl.randn(3, 8)
    program = jit.trace(network, (x,))
    for each in (x, x * 3, fl.randn(3, 8)):
        assert fl.equal(program(each), network(each))
