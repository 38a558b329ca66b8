"""Layers of integers against integer arithmetic, and the way there."""
from __future__ import annotations

import copy

import numpy as np
import pytest

import flambeau as fl
from flambeau import nn
from flambeau.ao import quantization as q
from flambeau.ao.nn import intrinsic, quantized
from flambeau.ao.nn.quantized import dynamic
from flambeau.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def requantized(sums, one, bias, scale, zero, relu):
    """What integers a layer gives for sums of integers, in float64."""
    numbers = np.round((sums + bias / one) * (one / scale)) + zero
    return np.clip(numbers, max(0, zero) if relu else 0, 255)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("by_channel", [False, True])
@pytest.mark.parametrize("size", [1, 7, 600])
def test_linear_is_integer_arithmetic(relu, by_channel, size):
    rng = np.random.default_rng(size)
    kind = intrinsic.quantized.LinearReLU if relu else quantized.Linear
    layer = kind(size, 5)
    weight = fl.from_numpy(rng.standard_normal((5, size)).astype(np.float32))
    scales = fl.tensor([0.01, 0.02, 0.03, 0.04, 0.05])
    made = fl.quantize_per_channel(weight, scales, fl.zeros(5).long(), 0, fl.qint8) \
        if by_channel else fl.quantize_per_tensor(weight, 0.02, 0, fl.qint8)
    bias = fl.from_numpy(rng.standard_normal(5).astype(np.float32))
    layer.set_weight_bias(made, bias)
    layer.scale, layer.zero_point = 0.1, 60
    x = fl.quantize_per_tensor(fl.from_numpy(rng.standard_normal((3, size)).astype(np.float32)),
                               0.03, 128, fl.quint8)
    sums = (x.int_repr().numpy().astype(np.int64) - 128) @ made.int_repr().numpy().T.astype(int)
    one = 0.03 * (scales.double().numpy() if by_channel else 0.02)
    expected = requantized(sums, one, bias.double().numpy(), 0.1, 60, relu)
    got = layer(x).int_repr().numpy()
    assert np.abs(got - expected).max() <= 1 and (got != expected).mean() < 0.05
    assert layer(x).q_scale() == 0.1 and layer(x[0]).shape == (5,)


def test_convolutions_equal_their_linear_form():
    x = fl.quantize_per_tensor(fl.randn(2, 6, 5), 0.05, 100, fl.quint8)
    linear, conv = quantized.Linear(6, 4), quantized.Conv1d(6, 4, 1)
    weight = fl.quantize_per_tensor(fl.randn(4, 6), 0.02, 0, fl.qint8)
    bias = fl.randn(4)
    linear.set_weight_bias(weight, bias)
    conv.set_weight_bias(weight.unsqueeze(2), bias)
    linear.scale = conv.scale = 0.1
    linear.zero_point = conv.zero_point = 128
    assert fl.equal(conv(x).transpose(1, 2), linear(x.transpose(1, 2)))
    assert conv(x[0]).shape == (4, 5)       # without a batch


@pytest.mark.parametrize("n", [1, 2, 3])
def test_padding_adds_zeros_not_zero_points(n):
    conv = getattr(quantized, f"Conv{n}d")(1, 1, 3, padding=1)
    conv.set_weight_bias(fl.quantize_per_tensor(fl.ones(1, 1, *[3] * n), 1.0, 0, fl.qint8), None)
    conv.scale, conv.zero_point = 1.0, 7
    x = fl.quantize_per_tensor(fl.zeros(1, 1, *[4] * n), 1.0, 90, fl.quint8)
    assert set(conv(x).int_repr().flatten().tolist()) == {7}


def small():
    network = nn.Sequential(q.QuantStub(), nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(),
                            nn.Flatten(), nn.Linear(16, 3), q.DeQuantStub())
    network(fl.randn(8, 2, 4, 4))
    return network.eval()


def test_static_quantization_stays_near_floats():
    network = small()
    fused = q.fuse_modules(network, ["1", "2", "3"])
    fused.qconfig = q.get_default_qconfig("x86")
    ready = q.prepare(fused)
    data = fl.randn(64, 2, 4, 4)
    wanted = ready(data)
    assert fl.equal(wanted, fused(data))        # watching changes nothing
    done = q.convert(ready)
    assert type(done[1]) is intrinsic.quantized.ConvReLU2d and type(done[5]) is quantized.Linear
    assert not list(done.parameters()) and "QuantizedConvReLU2d" in repr(done)
    assert (done(data) - wanted).abs().max() < 0.05 * wanted.abs().max()
    again = q.convert(ready)
    again.load_state_dict(done.state_dict())
    assert fl.equal(again(data), done(data)) and fl.equal(copy.deepcopy(done)(data), done(data))


def test_networks_of_their_own_are_left_as_they_are():
    network = small()
    network.qconfig = q.default_qconfig
    before = repr(network)
    ready = q.prepare(network)
    ready(fl.randn(4, 2, 4, 4))
    q.convert(ready)
    assert repr(network) == before and not hasattr(network[1], "activation_post_process")


def test_a_layer_without_configuration_stays():
    network = small()
    network.qconfig = q.default_qconfig
    network[5].qconfig = None
    ready = q.prepare(network)
    ready(fl.randn(4, 2, 4, 4))
    assert type(q.convert(ready)[5]) is nn.Linear


def test_hooks_of_layers_stay():
    seen = []
    network = small()
    network[5].register_forward_hook(lambda m, i, o: seen.append(type(m).__name__))
    network.qconfig = q.default_qconfig
    ready = q.prepare(network)
    ready(fl.randn(4, 2, 4, 4))
    q.convert(ready)(fl.randn(4, 2, 4, 4))
    assert seen == ["Linear", "Linear"] or seen[-1] == "Linear"


def test_training_rounds_weights_and_learns():
    fl.manual_seed(0)
    network = q.fuse_modules_qat(small().train(), ["1", "2", "3"])
    network.qconfig = q.get_default_qat_qconfig("x86")
    ready = q.prepare_qat(network)
    data, wanted = fl.randn(32, 2, 4, 4), fl.randn(32, 3)
    losses = []
    for _ in range(30):
        loss = (ready(data) - wanted).square().mean()
        ready.zero_grad()
        loss.backward()
        with fl.no_grad():
            for p in ready.parameters():
                p -= 0.05 * p.grad
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    ready.apply(q.disable_observer).apply(intrinsic.qat.freeze_bn_stats)
    done = q.convert(ready.eval())
    assert (done(data) - ready(data)).abs().max() < 0.1 * ready(data).abs().max()


def test_scales_by_channel_survive_a_state():
    layer = nn.Sequential(nn.Linear(3, 4))
    layer.qconfig = q.get_default_qat_qconfig("x86")
    ready, fresh = q.prepare_qat(layer.train()), q.prepare_qat(layer.train())
    ready(fl.randn(5, 3))
    fresh.load_state_dict(ready.state_dict())
    assert fl.equal(fresh[0].weight_fake_quant.scale, ready[0].weight_fake_quant.scale)
    assert fresh[0].weight_fake_quant.scale.shape == (4,)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("options", [{}, {"batch_first": True, "num_layers": 2},
                                     {"bidirectional": True, "bias": False}])
def test_dynamic_recurrent_layers_stay_near_floats(kind, options):
    layer = kind(5, 7, **options)
    done = q.quantize_dynamic(nn.Sequential(layer))[0]
    assert type(done) is getattr(dynamic, kind.__name__)
    x = fl.randn(4, 3, 5)
    (wanted, states), (got, last) = layer(x), done(x)
    assert got.shape == wanted.shape and (got - wanted).abs().max() < 0.03
    for a, b in zip(*[s if isinstance(s, tuple) else (s,) for s in (states, last)], strict=True):
        assert a.shape == b.shape and (a - b).abs().max() < 0.05
    again = done(x, states)[0]
    assert (again - layer(x, states)[0]).abs().max() < 0.03
    assert done(x[:, 0])[0].shape == layer(x[:, 0])[0].shape       # without a batch


def test_dynamic_recurrent_layers_take_packed_sequences():
    layer = nn.LSTM(5, 6, bidirectional=True)
    done = q.quantize_dynamic(nn.Sequential(layer))[0]
    packed = pack_padded_sequence(fl.randn(4, 3, 5), [4, 1, 3], enforce_sorted=False)
    (wanted, (h, _)), (got, (last, _)) = layer(packed), done(packed)
    assert (pad_packed_sequence(got)[0] - pad_packed_sequence(wanted)[0]).abs().max() < 0.03
    assert (h - last).abs().max() < 0.03


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_dynamic_cells(kind):
    cell = kind(4, 6)
    done = q.quantize_dynamic(nn.Sequential(cell))[0]
    x = fl.randn(3, 4)
    wanted, got = cell(x), done(x)
    for a, b in zip(*[s if isinstance(s, tuple) else (s,) for s in (wanted, got)], strict=True):
        assert (a - b).abs().max() < 0.03


def test_dynamic_linear_layers_by_class_and_name():
    network = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))
    done = q.quantize_dynamic(network, {"2": q.per_channel_dynamic_qconfig})
    assert type(done[0]) is nn.Linear and type(done[2]) is dynamic.Linear
    assert done[2].weight().qscheme() == fl.per_channel_affine
    x = fl.randn(7, 6)
    assert (done(x) - network(x)).abs().max() < 0.03
    half = q.quantize_dynamic(network, dtype=fl.float16)
    assert half[0].weight().dtype is fl.float16 and (half(x) - network(x)).abs().max() < 0.01
    with pytest.raises(ValueError, match="dtype must be"):
        q.quantize_dynamic(network, dtype=fl.int8)
    q.quantize_dynamic(network, inplace=True)
    assert type(network[0]) is dynamic.Linear


def test_tables_of_integers():
    table, bags = nn.Embedding(10, 8), nn.EmbeddingBag(10, 8, mode="sum")
    done = q.quantize_dynamic(nn.ModuleList([table, bags]), dtype=fl.quint8)
    index = fl.tensor([[1, 9, 1], [0, 2, 2]])
    assert (done[0](index) - table(index)).abs().max() < 0.02
    assert (done[1](index) - bags(index)).abs().max() < 0.05
    other = q.quantize_dynamic(nn.ModuleList([nn.Embedding(10, 8), bags]), dtype=fl.quint8)
    other.load_state_dict(done.state_dict())
    assert fl.equal(other[0](index), done[0](index))


def test_sums_and_products_of_integers():
    f = quantized.QFunctional()
    f.scale, f.zero_point = 0.05, 100
    a, b = (fl.quantize_per_tensor(fl.randn(3, 4), 0.02, z, fl.quint8) for z in (128, 90))
    x, y = a.dequantize(), b.dequantize()
    for got, wanted in ((f.add(a, b), x + y), (f.mul(a, b), x * y), (f.cat([a, b]), fl.cat([x, y])),
                        (f.add_relu(a, b), (x + y).relu()), (f.matmul(a, b.t()), x @ y.t())):
        assert got.q_scale() == 0.05
        assert (got.dequantize() - wanted.clamp(-5, 7.75)).abs().max() <= 0.0251
    for number in (0.5, -0.5, 100.0, -3.0):
        assert (f.add_scalar(a, number).dequantize() - (x + number)).abs().max() < 0.5
        got = f.mul_scalar(a, number)
        assert (got.dequantize() - x * number).abs().max() <= 0.011 * abs(number)
    assert f.mul_scalar(a, 0.0).dequantize().abs().max() == 0


def test_errors_say_what_to_write():
    with pytest.raises(TypeError, match="put a QuantStub before"):
        quantized.Linear(2, 2)(fl.ones(1, 2))
    with pytest.warns(UserWarning, match="no layer has a configuration"):
        q.prepare(nn.Sequential(nn.Linear(2, 2)))
    with pytest.raises(AssertionError, match=r"model\.train\(\)"):
        q.prepare_qat(nn.Linear(2, 2).eval())
    with pytest.raises(NotImplementedError, match="Cannot fuse modules: ReLU, Linear"):
        q.fuse_modules(nn.Sequential(nn.ReLU(), nn.Linear(2, 2)).eval(), ["0", "1"])
    with pytest.raises(AssertionError, match=r"network\.eval\(\)"):
        q.fuse_modules(nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)), ["0", "1"])
    with pytest.raises(AssertionError, match="backend must be one of"):
        q.get_default_qconfig("none")
    with pytest.warns(UserWarning, match="has seen no numbers"):
        q.MinMaxObserver().calculate_qparams()
    with pytest.raises(NotImplementedError, match="PerChannelMinMaxObserver"):
        q.MinMaxObserver(qscheme=fl.per_channel_affine)


@pytest.mark.parametrize("observer", [
    q.MinMaxObserver(), q.MovingAverageMinMaxObserver(), q.HistogramObserver(),
    q.PerChannelMinMaxObserver(), q.MovingAveragePerChannelMinMaxObserver()])
def test_observers_pass_numbers_and_take_any_shape(observer):
    for x in (fl.zeros(0), fl.tensor([3.0]), fl.ones(4).expand(4), fl.tensor([1.0, -2.0])[::1]):
        assert observer(x) is x
        if x.numel() == 1 or x.numel() == 4:
            observer.reset_min_max_vals()
    scale, zero_point = observer.calculate_qparams()
    assert scale.ndim == zero_point.ndim == 1 and bool((scale > 0).all())


@pytest.mark.parametrize("n", [1, 2, 3])
def test_functions_are_what_layers_compute(n):
    layer = getattr(quantized, f"Conv{n}d")(2, 4, 3, stride=2, padding=1)
    weight = fl.quantize_per_tensor(fl.randn(4, 2, *[3] * n), 0.02, 0, fl.qint8)
    bias = fl.randn(4)
    layer.set_weight_bias(weight, bias)
    layer.scale, layer.zero_point = 0.1, 100
    x = fl.quantize_per_tensor(fl.randn(2, 2, *[6] * n), 0.03, 120, fl.quint8)
    function = getattr(quantized.functional, f"conv{n}d")
    assert fl.equal(function(x, weight, bias, 2, 1, scale=0.1, zero_point=100), layer(x))
    with pytest.raises(NotImplementedError, match="pad the input before"):
        function(x, weight, bias, padding_mode="reflect")
    flat = fl.quantize_per_tensor(fl.randn(3, 5), 0.03, 120, fl.quint8)
    linear = quantized.Linear(5, 2)
    linear.set_weight_bias(fl.quantize_per_tensor(fl.randn(2, 5), 0.02, 0, fl.qint8), None)
    linear.scale, linear.zero_point = 0.03, 120
    assert fl.equal(quantized.functional.linear(flat, linear.weight()), linear(flat))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_dynamic_convolutions_stay_near_floats(n):
    conv = getattr(nn, f"Conv{n}d")(2, 4, 3, padding=1)
    done = getattr(dynamic, f"Conv{n}d").from_float(conv)
    x = fl.randn(2, 2, *[5] * n)
    assert (done(x) - conv(x)).abs().max() < 0.08 and done(x[0]).shape == conv(x[0]).shape
    assert f"DynamicQuantizedConv{n}d" in repr(done)
