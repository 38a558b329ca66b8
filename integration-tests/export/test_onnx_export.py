"""Networks and functions as ONNX models: onnxruntime computes what they do."""

import math
import random

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
        None, {"input": x.numpy()})[0]
    assert (found == layer(x).numpy()).all()


class Attention(nn.Module):
    """As decoders of text write it: one product over all words of all texts."""

    def __init__(self):
        super().__init__()
        self.words, self.three = nn.Embedding(50, 16), nn.Linear(16, 48)
        self.score = nn.Linear(16, 50)

    def forward(self, words):
        x = self.words(words)
        b, t, width = x.shape
        three = self.three(x.view(-1, width)).view(b, t, 3 * width).chunk(3, -1)
        q, k, v = (each.view(b, t, 2, 8).transpose(1, 2) for each in three)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        return self.score(y.reshape(b * t, width)).view(b, t, 50)


def test_batch_and_length_that_both_vary():
    model = Attention().eval()
    written = flambeau.onnx.export(model, flambeau.randint(0, 50, (2, 5)),
                                   input_names=["words"], dynamic_axes={"words": [0, 1]})
    session = onnxruntime.InferenceSession(written.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    for b, t in ((1, 1), (1, 7), (3, 2), (4, 40)):
        words = flambeau.randint(0, 50, (b, t))
        found, = session.run(None, {"words": words.numpy()})
        np.testing.assert_allclose(found, model(words).detach().numpy(), rtol=1e-5, atol=1e-6)


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
    for write in (lambda a: a.add_(1), lambda a: a[:, 1:].relu_(), lambda a: a.t().mul_(2).sum()):
        with pytest.raises(flambeau.onnx.ExportError, match="writes"):
            flambeau.onnx.export(write, x.clone())
    with pytest.raises(ValueError, match="18 to 23"):
        flambeau.onnx.export(nn.ReLU(), x, opset_version=99)
    with pytest.raises(TypeError, match="opset_versoin"):
        flambeau.onnx.export(nn.ReLU(), x, opset_versoin=18)
    with pytest.raises(flambeau.onnx.ExportError, match=r"dtype of its operands.*Conv"):
        flambeau.onnx.export(flambeau.conv1d, (x.long()[None], x.long()[None]))


def test_calls_as_tutorials_write_them(tmp_path):
    with pytest.warns(UserWarning, match="the model has 18"):
        written = flambeau.onnx.export(
            nn.ReLU(), flambeau.randn(2, 4), tmp_path / "relu.onnx", export_params=True,
            opset_version=11, do_constant_folding=True, input_names=["input"],
            output_names=["output"], dynamic_axes={"input": {0: "batch_size"}}, dynamo=False)
    assert written.opset_import[0].version == 18 and (tmp_path / "relu.onnx").exists()


def run(written, *inputs):
    session = onnxruntime.InferenceSession(written.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    return session.run(None, {each.name: x.numpy() for each, x in zip(
        session.get_inputs(), inputs, strict=True)})


def compare(function, *inputs, rtol=1e-4, **more):
    function = function.eval() if isinstance(function, nn.Module) else function
    with flambeau.no_grad():
        written = flambeau.onnx.export(function, inputs, **more)
        wanted = flat(function(*(x.clone() for x in inputs)))
    found = run(written, *inputs)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == tuple(b.shape) and a.dtype == b.numpy().dtype
        np.testing.assert_allclose(a, b.numpy(), rtol=rtol, atol=1e-5)


def scores():
    return flambeau.randn(3, 5)


def chances():
    return flambeau.rand(3, 5)


CLASSES, SIGNS = flambeau.tensor([1, 0, 4]), flambeau.tensor([1.0, -1, 1])
LOSSES = [
    (nn.L1Loss(), scores(), chances()), (nn.MSELoss(), scores(), chances()),
    (nn.SmoothL1Loss(), scores(), chances()), (nn.HuberLoss(delta=0.3), scores(), chances()),
    (nn.BCELoss(), chances(), chances()), (nn.BCEWithLogitsLoss(), scores(), chances()),
    (nn.KLDivLoss(reduction="batchmean"), scores(), chances()),
    (nn.PoissonNLLLoss(), scores(), chances()), (nn.SoftMarginLoss(), scores(), scores().sign()),
    (nn.CrossEntropyLoss(), scores(), CLASSES), (nn.NLLLoss(), scores(), CLASSES),
    (nn.CrossEntropyLoss(flambeau.rand(5), label_smoothing=0.1, ignore_index=0), scores(), CLASSES),
    (nn.CrossEntropyLoss(), scores(), F.softmax(scores(), 1)),
    (nn.CrossEntropyLoss(reduction="none"), flambeau.randn(2, 4, 8, 8),
     flambeau.randint(0, 4, (2, 8, 8))),
    (nn.NLLLoss(flambeau.rand(5), ignore_index=1), scores(), CLASSES),
    (nn.MultiMarginLoss(), scores(), CLASSES),
    (nn.MultiLabelSoftMarginLoss(), scores(), (chances() > 0.5).float()),
    (nn.MultiLabelMarginLoss(), scores(), flambeau.tensor(
        [[1, 2, -1, 0, 0], [0, -1, 0, 0, 0], [4, 3, 2, 1, 0]])),
    (nn.MarginRankingLoss(), flambeau.randn(3), flambeau.randn(3), SIGNS),
    (nn.HingeEmbeddingLoss(), scores(), scores().sign()),
    (nn.CosineEmbeddingLoss(), scores(), chances(), SIGNS),
    (nn.TripletMarginLoss(), scores(), chances(), scores()),
    (nn.TripletMarginWithDistanceLoss(), scores(), chances(), scores())]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", LOSSES, ids=lambda case: type(case[0]).__name__)
def test_losses(case):
    compare(*case)


WINDOWED = [
    (nn.Unfold(3, padding=1, stride=2), image(2, 4, 8, 8)),
    (nn.Fold((8, 8), 2, stride=2), image(2, 16, 16)),
    (nn.Fold((6, 6), 3, padding=1), image(2, 18, 36)), (nn.LocalResponseNorm(3), image(2, 4, 8, 8)),
    (nn.AdaptiveAvgPool2d(3), image(2, 4, 8, 8)), (nn.AdaptiveMaxPool2d(5), image(2, 4, 8, 8)),
    (nn.MaxPool2d(2, return_indices=True), image(2, 4, 8, 8)),
    (nn.MaxPool3d(2, return_indices=True), image(2, 4, 6, 6, 6)),
    (nn.MaxPool2d(2, return_indices=True), image(4, 8, 8)),
    (lambda x: x.unfold(1, 3, 2), image(2, 7, 3)), (nn.PixelShuffle(2), image(2, 4, 3, 3)),
    (nn.LPPool2d(2, 2), image(2, 4, 8, 8))]


@pytest.mark.parametrize("case", WINDOWED,
                         ids=lambda case: getattr(case[0], "__name__", str(case[0])))
def test_windows(case):
    compare(*case)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 3])
def test_bags_of_embeddings(mode, padding):
    bags = nn.EmbeddingBag(10, 4, mode=mode, padding_idx=padding)
    compare(bags, flambeau.randint(0, 10, (3, 5)))
    compare(bags, flambeau.tensor([1, 3, 3, 9, 3, 3, 2]), flambeau.tensor([0, 2, 2, 4]))
    if mode == "sum":
        compare(lambda i, w: bags(i, per_sample_weights=w), flambeau.randint(0, 10, (3, 5)),
                flambeau.rand(3, 5))


INDEXED = [
    lambda a: a.index_put((flambeau.tensor([0, 1]),), flambeau.zeros(2, 5, 16)),
    lambda a: a.index_put((flambeau.tensor([0, 0]),), flambeau.ones(16), accumulate=True),
    lambda a: a.scatter(1, flambeau.zeros(2, 1, 16, dtype=flambeau.int64), 1.0),
    lambda a: a.scatter_add(1, flambeau.ones(2, 3, 16, dtype=flambeau.int64), a),
    lambda a: a.scatter_reduce(1, flambeau.ones(2, 5, 16, dtype=flambeau.int64), a, "amax"),
    lambda a: a.index_add(1, flambeau.tensor([0, 0, 3]), a[:, :3], alpha=2),
    lambda a: flambeau.bucketize(a, flambeau.tensor([-1.0, 0, 1])),
    lambda a: flambeau.cdist(a, a), lambda a: flambeau.diag_embed(a),
    lambda a: flambeau.view_as_real(flambeau.fft.rfft(a)),
    lambda a: F.one_hot((a[0, 0] > 0).long(), 3), lambda a: (a.long() << 2) | 1,
    lambda a: (a * 100).int() >> 3, lambda a: flambeau.linalg.det(a[:, :, :5])]


@pytest.mark.parametrize("function", INDEXED)
@pytest.mark.parametrize("opset", [18, 20])
def test_indices_and_transforms(function, opset):
    compare(function, flambeau.randn(2, 5, 16), opset_version=opset)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(5, 7), (20, 3), (13, 30)])
def test_images_resized_without_aliases(mode, size):
    for align in (None, True):
        compare(lambda x, align=align: F.interpolate(
            x, size=size, mode=mode, antialias=True, align_corners=align), image(2, 3, 12, 12))


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 1e-6, -1e-6, 1e30, math.inf, -math.inf,
           math.nan, 2.5, 1e-30]
FORMULAS = [
    flambeau.trunc, flambeau.frac, flambeau.expm1, flambeau.log1p, flambeau.isfinite,
    flambeau.nan_to_num, flambeau.sinc, flambeau.exp2, F.logsigmoid, flambeau.special.entr]
PAIRS = [flambeau.atan2, flambeau.xlogy, flambeau.logaddexp, flambeau.special.xlog1py,
         flambeau.hypot]


@pytest.mark.parametrize("function", FORMULAS)
def test_formulas_at_special_numbers(function):
    compare(function, flambeau.tensor(SPECIAL))


@pytest.mark.parametrize("function", PAIRS)
def test_formulas_of_two_at_special_numbers(function):
    values = flambeau.tensor(SPECIAL)
    compare(function, values.repeat_interleave(len(SPECIAL)), values.repeat(len(SPECIAL)))


def writing_program(seed):
    """Views and writes into them, drawn at random."""
    def program(a):
        draw, values, sums = random.Random(seed), [a * 1], []
        for _ in range(8):
            kind, v = draw.randrange(8), draw.choice(values)
            if kind == 0 and v.dim() > 1:
                values.append(v.transpose(0, -1))
            elif kind == 1 and v.dim() > 0 and v.shape[0] > 1:
                values.append(v[1:])
            elif kind == 2 and v.dim() > 1:
                values.append(v[..., 0])
            elif kind == 3 and v.dim() > 0:
                values.append(v[::2])
            elif kind == 4:
                v.mul_(0.5 + draw.random())
            elif kind == 5:
                v.fill_(draw.random())
            elif kind == 6:
                v.add_(v.sum() * 0.1)
            elif kind == 7 and v.dim() > 0:
                v.copy_(v.flip(0) + 1)
            if draw.random() < 0.3:
                sums.append(v.sum())
        return (*sums, *values)

    return program


@pytest.mark.parametrize("block", range(4))
def test_writes_into_views(block):
    for seed in range(block * 15, block * 15 + 15):
        compare(writing_program(seed), flambeau.randn(3, 5, 4))
