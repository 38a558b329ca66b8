"""Networks and functions as ONNX models: onnxruntime computes what they do."""

import numpy as np
import pytest

import flambeau
from flambeau import nn

onnx = pytest.importorskip("onnx", reason="needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
F = nn.functional


def image(*shape):
    return flambeau.randn(*shape)


def text():
    return flambeau.randn(2, 5, 16)


def flat(value):
    if isinstance(value, tuple | list):
        return [part for each in value for part in flat(each)]
    return [value]


def assert_same(model, x, dynamic=(), opset=20, batches=(2, 3, 1)):
    """The same numbers for several sizes of the first dimension."""
    names = {"dynamic_axes": {"x": {0: "batch"}}, "input_names": ["x"]} if dynamic else {}
    written = flambeau.onnx.export(model, x, opset_version=opset, **names)
    session = onnxruntime.InferenceSession(written.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    for n in batches if dynamic else (2,):
        given = flambeau.cat([x, x])[:n]
        with flambeau.no_grad():
            want = flat(model(given))
        found = session.run(None, {session.get_inputs()[0].name: given.numpy()})
        assert len(found) == len(want)
        for a, b in zip(found, want, strict=True):
            assert a.shape == tuple(b.shape) and a.dtype == b.numpy().dtype
            np.testing.assert_allclose(a, b.numpy(), atol=1e-5, rtol=1e-5)


ACTIVATIONS = [
    nn.Softmax(-1), nn.LogSoftmax(1), nn.Softmin(1), nn.GELU(), nn.GELU("tanh"), nn.SiLU(),
    nn.Hardswish(), nn.Hardsigmoid(), nn.Hardtanh(), nn.ReLU(), nn.ReLU6(), nn.ELU(), nn.SELU(),
    nn.CELU(0.7), nn.LeakyReLU(), nn.PReLU(), nn.PReLU(5), nn.Sigmoid(), nn.LogSigmoid(),
    nn.Tanh(), nn.Softplus(2, 3), nn.Mish(), nn.Softsign(), nn.Tanhshrink(), nn.Hardshrink(),
    nn.Softshrink(), nn.Threshold(0.1, 2.0), nn.GLU(), nn.Dropout(), nn.LayerNorm(16),
    nn.LayerNorm((5, 16)), nn.RMSNorm(16), nn.Linear(16, 3), nn.Conv1d(5, 4, 3, padding=1),
    nn.MaxPool1d(2), nn.AvgPool1d(2), nn.Flatten()]
IMAGES = [
    nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(3, 6, 3, groups=3, dilation=2),
    nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), nn.BatchNorm2d(3), nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1),
    nn.AvgPool2d(2), nn.AvgPool2d(3, 2, 1, count_include_pad=False), nn.AdaptiveAvgPool2d(1),
    nn.AdaptiveAvgPool2d(4), nn.AdaptiveMaxPool2d(4), nn.GroupNorm(1, 3), nn.GroupNorm(3, 3),
    nn.InstanceNorm2d(3), nn.InstanceNorm2d(3, affine=True), nn.Upsample(scale_factor=2),
    nn.Upsample(scale_factor=2, mode="bilinear"), nn.Upsample((5, 7), mode="bilinear"),
    nn.Upsample(scale_factor=2, mode="bicubic"), nn.PixelUnshuffle(2), nn.ZeroPad2d(1),
    nn.ReflectionPad2d(1), nn.ReplicationPad2d(1), nn.CircularPad2d(1), nn.ChannelShuffle(3)]
RECURRENT = [
    nn.LSTM(16, 6, batch_first=True), nn.LSTM(16, 6, 2, bidirectional=True, batch_first=True),
    nn.GRU(16, 6, batch_first=True), nn.RNN(16, 6, batch_first=True),
    nn.RNN(16, 6, nonlinearity="relu", batch_first=True, bias=False)]
NETWORKS = [
    nn.TransformerEncoderLayer(16, 2, 32, batch_first=True),
    nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)]
FUNCTIONS = {
    "reductions": lambda a: a.mean((1, 2)) + a.sum(-1).amax(1) + a.std((1, 2)) + a.prod(2).amin(1),
    "extremes": lambda a: (a.argmax(-1), a.max(1), a.min(2).values, a.argmin(1, keepdim=True)),
    "views": lambda a: flambeau.cat([a, a * 2], 1).permute(2, 0, 1)[1:, 0].exp().clamp(0, 1),
    "scans": lambda a: flambeau.where(a > 0, a, -a).cumsum(1),
    "products": lambda a: flambeau.cat([a, a], 1).flatten(1).chunk(2, 1)[1] @ flambeau.ones(80, 3),
    "order": lambda a: (a.topk(2)[0], a.sort(-1, descending=True), a.flip(1)),
    "indices": lambda a: (a[:, [0, 2]], a[..., -1], a[:, 1:4:2]),
    "attention": lambda a: F.scaled_dot_product_attention(a, a, a, is_causal=True),
    "sizes": lambda a: a.var(-1) * a.shape[0] + flambeau.arange(a.shape[1]),
    "truth": lambda a: ((a > 0) & (a < 1)) | ~(a == 0.5),
    "any": lambda a: ((a > 2).any(1), (a > -3).all(-1)),
    "masks": lambda a: a.masked_fill(a > 0, -1.0).tril(),
    "norms": lambda a: F.normalize(a, dim=-1) + F.layer_norm(a, (16,)),
    "einsum": lambda a: flambeau.einsum("bij,bkj->bik", a, a),
    "repeats": lambda a: a.repeat(1, 2, 1).roll(1, 1),
    "filled": lambda a: a.new_zeros(a.shape) + flambeau.ones_like(a),
    "integers": lambda a: (a * 10).long() % 3 + (a * 10).long() // 4,
    "remainders": lambda a: a % 0.3 + a.fmod(0.7) + (a // 0.4),
    "promoted": lambda a: (a * 3).int() + a,
    "powers": lambda a: (a.abs() + 1) ** 1.5 + 2**a + a.square() + (a.abs() + 1).rsqrt(),
    "logarithms": lambda a: a.abs().log1p() + a.expm1() + (a.exp() + 1).log2().log10(),
}


@pytest.mark.parametrize("module", [*ACTIVATIONS, *NETWORKS, *RECURRENT], ids=str)
def test_modules_of_text(module):
    flambeau.manual_seed(0)
    assert_same(module.eval(), text(), dynamic=True)


@pytest.mark.parametrize("module", IMAGES, ids=str)
def test_modules_of_images(module):
    flambeau.manual_seed(0)
    assert_same(module.eval(), image(2, 3, 8, 8), dynamic=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    flambeau.manual_seed(0)
    assert_same(FUNCTIONS[name], text(), dynamic=True)


@pytest.mark.parametrize("opset", flambeau.onnx.OPSETS)
def test_every_version_of_operators(opset):
    flambeau.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 8), nn.GELU(), nn.LayerNorm(8), nn.GELU("tanh")).eval()
    assert_same(model, text(), opset=opset)


def test_weights_of_int8_give_the_same_bits():
    flambeau.manual_seed(0)
    layer, x = nn.utils.quantize_dynamic(nn.Linear(16, 3)), flambeau.randn(5, 16)
    x[1] = 0
    written = flambeau.onnx.export(layer, x)
    found = onnxruntime.InferenceSession(written.SerializeToString()).run(
        None, {"input_0": x.numpy()})[0]
    assert (found == layer(x).numpy()).all()


def test_names_files_and_tables(tmp_path):
    path = tmp_path / "model.onnx"
    model = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2)).eval()
    flambeau.onnx.export(model, flambeau.tensor([[1, 2]]), path, input_names=["words"],
                         output_names=["scores"], dynamic_axes={"words": [0, 1]})
    session = onnxruntime.InferenceSession(path)
    words = np.array([[1, 2, 3], [9, 0, 1]])
    (found,) = session.run(["scores"], {"words": words})
    np.testing.assert_allclose(found, model(flambeau.tensor(words)).detach().numpy(), atol=1e-6)
    held = {tensor.name for tensor in onnx.load(path).graph.initializer}
    assert {"0.weight", "1.weight", "1.bias"} <= held


def test_what_has_no_form_is_refused():
    x = flambeau.randn(2, 4)
    with pytest.raises(flambeau.onnx.ExportError, match=r"svd.*test_onnx_export.py:\d+"):
        flambeau.onnx.export(lambda a: flambeau.linalg.svd(a)[1], x)
    with pytest.raises(flambeau.onnx.ExportError, match="writes"):
        flambeau.onnx.export(lambda a: a.add_(1), x.clone())
    with pytest.raises(ValueError, match="18 to 23"):
        flambeau.onnx.export(nn.ReLU(), x, opset_version=99)
    with pytest.raises(TypeError, match="opset_versoin"):
        flambeau.onnx.export(nn.ReLU(), x, opset_versoin=18)
    with pytest.raises(flambeau.onnx.ExportError, match="positional"):
        flambeau.onnx.export(nn.ReLU(), x, kwargs={"inplace": True})


def test_calls_as_tutorials_write_them(tmp_path):
    with pytest.warns(UserWarning, match="the model has 18"):
        written = flambeau.onnx.export(
            nn.ReLU(), flambeau.randn(2, 4), tmp_path / "relu.onnx", export_params=True,
            opset_version=11, do_constant_folding=True, input_names=["input"],
            output_names=["output"], dynamic_axes={"input": {0: "batch_size"}}, dynamo=False)
    assert written.opset_import[0].version == 18 and (tmp_path / "relu.onnx").exists()
