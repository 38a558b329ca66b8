"""Weights of few bits in ONNX, run by onnxruntime."""

import numpy as np
import pytest

import flambeau as fl
from flambeau import nn
from flambeau.ao import quantization as ao
from flambeau.ao.nn.quantized import FloatFunctional

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


@pytest.fixture(autouse=True)
def seed():
    fl.manual_seed(0)


def run(written, x):
    session = onnxruntime.InferenceSession(written.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]


def words(written):
    return {node.op_type for node in written.graph.node}


def network(columns=96):
    return nn.Sequential(nn.Linear(columns, 48), nn.ReLU(), nn.Linear(48, 5, bias=False))


@pytest.mark.parametrize("opset", fl.onnx.OPSETS)
@pytest.mark.parametrize("form", [
    {"weights": "int8", "group": 0}, {"weights": "int8"}, {"weights": "int4"},
    {"weights": "int4", "symmetric": False}, {"weights": "int8", "symmetric": False},
    {"weights": "int4", "group": 0}, {"weights": "float16"}, {"weights": "bfloat16"}], ids=str)
def test_weights_of_few_bits(form, opset):
    few, x = nn.utils.quantize_weights(network(), **form), fl.randn(7, 96)
    written = fl.onnx.export(few, x[:2], opset_version=opset, dynamic_axes={"input": {0: "n"}})
    for rows in (1, 7):
        np.testing.assert_allclose(run(written, x[:rows]), few(x[:rows]).numpy(),
                                   rtol=1e-5, atol=1e-5)
    if opset >= 21 and "int" in form["weights"]:
        assert "DequantizeLinear" in words(written)


@pytest.mark.parametrize("weights", ["int4", "int8"])
def test_the_last_group_of_a_row_may_be_shorter(weights):
    few, x = nn.utils.quantize_weights(network(70), weights, symmetric=False), fl.randn(3, 70)
    for opset in (18, 21, 23):
        written = fl.onnx.export(few, x, opset_version=opset)
        np.testing.assert_allclose(run(written, x), few(x).numpy(), rtol=1e-5, atol=1e-5)


def test_four_bits_stay_four_bits_in_the_file():
    model = nn.Linear(1024, 1024)
    full = fl.onnx.export(model, fl.randn(1, 1024)).ByteSize()
    few = nn.utils.quantize_weights(model, "int4")
    for opset in (20, 21):
        assert fl.onnx.export(few, fl.randn(1, 1024), opset_version=opset).ByteSize() < full / 6


def test_tables_of_few_bits():
    table = nn.utils.quantize_weights(nn.Sequential(nn.Embedding(30, 64)), "int4")
    at = fl.tensor([[1, 29, 3]])
    np.testing.assert_allclose(run(fl.onnx.export(table, at), at), table(at).numpy(), atol=1e-6)


@pytest.mark.parametrize("opset", fl.onnx.OPSETS)
def test_int8_with_scales_around_products_of_floats(opset):
    small = nn.utils.quantize_dynamic(network())
    x = fl.randn(7, 96)
    x[3] = 0
    written = fl.onnx.export(small, x[:2], opset_version=opset, quantized="qdq",
                             dynamic_axes={"input": {0: "n"}})
    assert {"QuantizeLinear", "DequantizeLinear"} <= words(written)
    assert "MatMulInteger" not in words(written)
    for rows in (1, 7):
        np.testing.assert_allclose(run(written, x[:rows]), small(x[:rows]).numpy(),
                                   rtol=1e-5, atol=1e-5)


def test_int8_of_three_dimensions_and_half_precision():
    layer, x = nn.utils.quantize_dynamic(nn.Linear(16, 3)), fl.randn(2, 5, 16)
    for given in (x, x.half()):
        found = run(fl.onnx.export(layer, given, quantized="qdq"), given)
        assert found.shape == (2, 5, 3)
        np.testing.assert_allclose(found, layer(given).numpy(), rtol=2e-3, atol=1e-3)


class Sums(nn.Module):
    """Convolutions of integers of all kinds, a sum, a pooling, a linear layer."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = ao.QuantStub(), ao.DeQuantStub()
        self.first, self.relu = nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU()
        self.apart = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=8)
        self.groups, self.sum = nn.Conv2d(8, 8, 1, groups=2), FloatFunctional()
        self.pool, self.last = nn.MaxPool2d(2), nn.Linear(8 * 16, 5)

    def forward(self, x):
        x = self.relu(self.first(self.quant(x)))
        x = self.pool(self.sum.add(x, self.groups(self.apart(x))))
        return self.dequant(self.last(fl.flatten(x, 1)))


def integers(dtype=fl.quint8):
    network = ao.fuse_modules(Sums().eval(), ["first", "relu"])
    weights = ao.default_per_channel_weight_observer
    network.qconfig = ao.QConfig(ao.MinMaxObserver.with_args(dtype=dtype), weights)
    ready = ao.prepare(network)
    ready(fl.randn(8, 3, 16, 16))
    return ao.convert(ready)


@pytest.mark.parametrize("dtype", [fl.quint8, fl.qint8])
def test_networks_of_integers_have_the_same_bits(dtype):
    network, x = integers(dtype), fl.randn(3, 3, 16, 16)
    written = fl.onnx.export(network, x)
    assert "ConvInteger" in words(written)
    np.testing.assert_array_equal(run(written, x), network(x).numpy())


def test_networks_of_integers_are_recorded_before_they_ran():
    network, x = integers(), fl.randn(3, 3, 16, 16)
    program = fl.jit.trace(network, (x,))
    assert fl.equal(program(x), network(x))
    assert sum(node.op == "quantized_conv" for node in program.graph.nodes) == 4
