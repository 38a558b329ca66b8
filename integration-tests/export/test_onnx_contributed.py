"""Operators that onnxruntime's tools write, against onnxruntime; and what those tools make."""

import numpy as np
import pytest

import flambeau as fl
from flambeau import nn

onnx = pytest.importorskip("onnx", reason="needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
from onnx import helper  # noqa: E402
from onnx_models import against_onnxruntime, assert_same, model_of  # noqa: E402

DOMAIN = "com.microsoft"
DRAW = np.random.default_rng(7)


def real(*shape):
    return DRAW.standard_normal(shape).astype(np.float32)


def small(dtype, *shape):
    """Bytes; those with a sign of 7 bits, as sums of onnxruntime saturate on some processors."""
    least, most = (-64, 63) if dtype == np.int8 else (0, 255)
    return DRAW.integers(least, most, shape, endpoint=True).astype(dtype)


def whole(*numbers, dtype=np.int32):
    return np.array(numbers, dtype)


def scale(number):
    return np.array(number, np.float32)


def zero(number, dtype=np.uint8):
    return np.array(number, dtype)


def node(op, arrays, outputs=1, domain=DOMAIN, version=17, fixed=(), **attributes):
    """A model of one node; ``None`` is an input left out, ``fixed`` are tensors of the model."""
    names = ["" if each is None else f"i{k}" for k, each in enumerate(arrays)]
    kinds = {k: helper.np_dtype_to_tensor_dtype(each.dtype)
             for k, each in enumerate(arrays) if each is not None}
    given = [(names[k], kinds[k], list(arrays[k].shape)) for k in kinds if k not in fixed]
    held = [(names[k], arrays[k]) for k in fixed]
    outs = [f"o{k}" for k in range(outputs)] if isinstance(outputs, int) else outputs
    made = helper.make_node(op, names, outs, domain=domain, **attributes)
    model = model_of([made], given, [(each, 0, None) for each in outs if each], version, held)
    if domain:
        model.opset_import.append(helper.make_opsetid(domain, 1))
    for each, kind in zip(model.graph.output, output_types(model), strict=True):
        each.type.tensor_type.elem_type = kind
    return model, [arrays[k] for k in kinds if k not in fixed]


def output_types(model):
    """What onnxruntime says of outputs whose types the model does not say."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for each in bare.graph.output:
        each.ClearField("type")
    session = onnxruntime.InferenceSession(bare.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    names = {"float": 1, "uint8": 2, "int8": 3, "int32": 6, "bool": 9}
    return [names[each.type[len("tensor("):-1]] for each in session.get_outputs()]


def case(op, *arrays, **more):
    return pytest.param(op, arrays, more, id=f"{op}-{len(arrays)}-{len(more)}")


IMAGE = real(1, 4, 6, 6)
ROWS = real(2, 5, 16)
FUSED = [
    case("FusedMatMul", real(3, 4), real(5, 4), transB=1, alpha=0.5),
    case("FusedMatMul", real(2, 4, 3), real(2, 4, 5), transA=1),
    case("FusedMatMul", real(3, 2, 4), real(2, 4, 5), transBatchA=1),
    case("FusedGemm", real(3, 4), real(4, 5), real(5), activation="Relu"),
    case("FusedGemm", real(3, 4), real(5, 4), real(5), activation="LeakyRelu",
         activation_alpha=0.2, transB=1, alpha=0.5, beta=2.0),
    case("FusedConv", IMAGE, real(3, 4, 3, 3), real(3), activation="Relu", pads=[1, 1, 1, 1]),
    case("FusedConv", IMAGE, real(3, 4, 3, 3), real(3), real(1, 3, 4, 4), activation="Relu"),
    case("FusedConv", IMAGE, real(3, 4, 3, 3), None, activation="Clip",
         activation_params=[-0.5, 0.5]),
    case("FusedConv", IMAGE, real(3, 4, 3, 3), real(3), activation="HardSigmoid",
         activation_params=[0.3, 0.4]),
    case("Gelu", ROWS), case("BiasGelu", ROWS, real(16)), case("FastGelu", ROWS),
    case("FastGelu", ROWS, real(16)), case("QuickGelu", ROWS), case("QuickGelu", ROWS, alpha=1.0),
    case("SkipLayerNormalization", ROWS, real(2, 5, 16), real(16), real(16), real(16),
         outputs=["a", "", "", "b"]),
    case("SkipLayerNormalization", ROWS, real(2, 5, 16), real(16), epsilon=1e-3),
    case("SkipSimplifiedLayerNormalization", ROWS, real(2, 5, 16), real(16), real(16),
         outputs=["a", "", "", "b"]),
    case("SimplifiedLayerNormalization", ROWS, real(16), domain="", epsilon=1e-3),
    case("LayerNormalization", ROWS, real(16), real(16), domain="", version=13),
    case("EmbedLayerNormalization", whole(3, 1, 2, 0).reshape(2, 2), whole(0, 1, 1, 0).reshape(
        2, 2), real(5, 8), real(4, 8), real(2, 8), real(8), real(8), outputs=2),
    case("EmbedLayerNormalization", whole(3, 1, 2, 0).reshape(2, 2), None, real(5, 8), real(4, 8),
         None, real(8), real(8), whole(1, 1, 1, 0).reshape(2, 2), outputs=2),
    case("Inverse", real(2, 3, 3))]

HEADS = {"num_heads": 2}
WEIGHTS = real(16, 48)
ATTENTION = [
    case("Attention", ROWS, WEIGHTS, real(48), **HEADS),
    case("Attention", ROWS, WEIGHTS, real(48), unidirectional=1, **HEADS),
    case("Attention", ROWS, WEIGHTS, real(48), whole(5, 3), **HEADS),
    case("Attention", ROWS, WEIGHTS, real(48), whole(5, 4, 0, 1), **HEADS),
    case("Attention", ROWS, WEIGHTS, real(48), whole(1, 1, 1, 0, 0, 1, 1, 1, 1, 1).reshape(2, 5),
         scale=0.3, **HEADS),
    case("Attention", ROWS, WEIGHTS, real(48), None, real(2, 2, 2, 3, 8), outputs=2,
         unidirectional=1, **HEADS),
    case("Attention", ROWS, WEIGHTS, real(48), None, None, real(2, 2, 5, 5), **HEADS),
    case("Attention", ROWS, real(16, 40), real(40), qkv_hidden_sizes=[16, 16, 8], **HEADS),
    case("MultiHeadAttention", ROWS, real(2, 7, 16), real(2, 7, 16), **HEADS),
    case("MultiHeadAttention", ROWS, real(2, 7, 16), real(2, 7, 16), real(48), **HEADS),
    case("MultiHeadAttention", ROWS, real(2, 7, 16), real(2, 7, 16), None,
         whole(*[1] * 7, 1, 1, 0, 1, 1, 0, 0).reshape(2, 7), **HEADS),
    case("MultiHeadAttention", ROWS, real(2, 5, 16), real(2, 5, 16), None, None,
         real(1, 2, 5, 8), real(2, 2, 3, 8), real(2, 2, 3, 8), outputs=3, **HEADS),
    case("GroupQueryAttention", real(2, 5, 64), real(2, 5, 32), real(2, 5, 32), None, None,
         whole(4, 4), whole(5), outputs=3, num_heads=4, kv_num_heads=2, fixed=(6,)),
    case("GroupQueryAttention", real(2, 1, 64), real(2, 1, 32), real(2, 1, 32),
         real(2, 2, 4, 16), real(2, 2, 4, 16), whole(4, 2), whole(5), real(9, 8), real(9, 8),
         outputs=3, num_heads=4, kv_num_heads=2, do_rotary=1, fixed=(6,)),
    case("GroupQueryAttention", real(1, 3, 128), None, None, None, None, whole(2), whole(3),
         real(9, 8), real(9, 8), outputs=3, num_heads=4, kv_num_heads=2, do_rotary=1,
         local_window_size=2, softcap=2.0, fixed=(6,)),
    case("RotaryEmbedding", ROWS, whole(2, dtype=np.int64), real(9, 4), real(9, 4)),
    case("RotaryEmbedding", real(2, 3, 5, 8), whole(*range(10), dtype=np.int64).reshape(2, 5),
         real(12, 4), real(12, 4), interleaved=1)]

U, S = np.uint8, np.int8
QUANTIZED = [
    case("QLinearAdd", small(U, 2, 4), scale(0.03), zero(7), small(U, 4), scale(0.05), zero(3),
         scale(0.06), zero(120)),
    case("QLinearMul", small(S, 2, 4), scale(0.03), zero(7, S), small(S, 4), scale(0.05),
         zero(3, S), scale(0.2), zero(-5, S)),
    case("QLinearSigmoid", small(U, 2, 4), scale(0.03), zero(120), scale(1 / 256), zero(0)),
    case("QLinearLeakyRelu", small(S, 2, 4), scale(0.03), zero(1, S), scale(0.03), zero(-9, S),
         alpha=0.2),
    case("QLinearSoftmax", small(U, 2, 8), scale(0.02), zero(100), scale(1 / 256), zero(0),
         axis=-1, opset=13),
    case("QLinearGlobalAveragePool", small(U, 1, 3, 4, 4), scale(0.02), zero(100), scale(0.01),
         zero(90)),
    case("QLinearAveragePool", small(U, 1, 3, 6, 6), scale(0.02), zero(100), scale(0.015),
         zero(90), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0]),
    case("QLinearConcat", scale(0.04), zero(5), small(U, 2, 3), scale(0.02), zero(1),
         small(U, 2, 4), scale(0.03), zero(2), axis=1),
    case("QLinearWhere", DRAW.random((2, 3)) > 0.5, small(U, 2, 3), scale(0.02), zero(1),
         small(U, 2, 3), scale(0.03), zero(2), scale(0.04), zero(5)),
    case("QGemm", small(U, 3, 300), scale(0.02), zero(100), small(S, 300, 5), scale(0.01),
         zero(0, S), DRAW.integers(-999, 999, 5).astype(np.int32), scale(0.5), zero(128)),
    case("QGemm", small(U, 3, 300), scale(0.02), zero(100), small(S, 5, 300),
         np.array([0.01, 0.02, 0.03, 0.01, 0.02], np.float32), np.zeros(5, S), transB=1,
         fixed=(3, 4, 5)),
    case("MatMulIntegerToFloat", small(U, 3, 600), small(S, 600, 5), scale(0.02),
         np.array([0.01, 0.02, 0.03, 0.01, 0.02], np.float32), zero(100), np.zeros(5, S), real(5)),
    case("DynamicQuantizeMatMul", real(3, 600), small(S, 600, 5), scale(0.02).reshape(1),
         zero(0, S).reshape(1), real(5), fixed=(1, 2, 3)),
    case("DynamicQuantizeLSTM", real(6, 2, 8), small(S, 1, 8, 20), small(S, 1, 5, 20), real(1, 40),
         None, real(1, 2, 5), real(1, 2, 5), None, scale(0.02).reshape(1), zero(0, S).reshape(1),
         scale(0.01).reshape(1), zero(0, S).reshape(1), hidden_size=5, outputs=3,
         fixed=(1, 2, 8, 9, 10, 11)),
    case("DynamicQuantizeLSTM", real(6, 1, 8), small(U, 2, 8, 20), small(U, 2, 5, 20), real(2, 40),
         whole(4), None, None, real(2, 15), scale([[0.02], [0.01]]).repeat(20, 1),
         zero([[128], [128]]).repeat(20, 1), scale([[0.03], [0.02]]).repeat(20, 1),
         zero([[3], [3]]).repeat(20, 1), hidden_size=5, direction="bidirectional", clip=3.0,
         outputs=3, fixed=(1, 2, 8, 9, 10, 11)),
    case("DynamicQuantizeLSTM", real(6, 2, 8), small(S, 1, 8, 20), small(S, 1, 5, 20), None,
         None, None, None, None, scale(0.02).reshape(1), zero(0, S).reshape(1),
         scale(0.01).reshape(1), zero(0, S).reshape(1), hidden_size=5, direction="reverse",
         activations=["HardSigmoid", "Relu", "Tanh"], input_forget=1, outputs=["", "h", "c"],
         fixed=(1, 2, 8, 9, 10, 11)),
    case("QAttention", small(U, 2, 5, 16), small(S, 16, 48), real(48), scale(0.02), scale(0.01),
         None, zero(128), zero(0, S), **HEADS),
    case("QAttention", small(U, 2, 5, 16), small(S, 16, 48), real(48), scale(0.02), scale(0.01),
         whole(5, 3), zero(128), zero(0, S), **HEADS),
    case("MatMulNBits", real(3, 64), small(U, 5, 2, 16), real(10), K=64, N=5, bits=4,
         block_size=32, fixed=(1, 2)),
    case("MatMulNBits", real(2, 3, 70), small(U, 5, 3, 16), real(15), small(U, 10), K=70, N=5,
         bits=4, block_size=32, fixed=(1, 2, 3)),
    case("MatMulNBits", real(3, 64), small(U, 5, 2, 32), real(10), K=64, N=5, bits=8,
         block_size=32, fixed=(1, 2))]


def checked(op, arrays, more, **near):
    model, given = node(op, arrays, **more)
    against_onnxruntime(model, *given, **near)


@pytest.mark.parametrize(("op", "arrays", "more"), FUSED)
def test_fused_operators(op, arrays, more):
    checked(op, arrays, more)


@pytest.mark.parametrize(("op", "arrays", "more"), ATTENTION)
def test_attention(op, arrays, more):
    checked(op, arrays, more)


@pytest.mark.parametrize(("op", "arrays", "more"), QUANTIZED)
def test_quantized_operators(op, arrays, more):
    checked(op, arrays, more, rtol=1e-4, atol=1e-4)


def test_a_table_of_four_bits():
    table = DRAW.integers(-8, 8, (6, 32))
    packed = helper.make_tensor("t", onnx.TensorProto.INT4, [6, 32], table.flatten().tolist())
    scales = real(6, 2)
    made = helper.make_node("GatherBlockQuantized", ["t", "x", "s"], ["y"], domain=DOMAIN,
                            block_size=16, quantize_axis=1, gather_axis=0)
    model = model_of([made], [("x", onnx.TensorProto.INT64, [2, 2])], [("y", 1, None)], 21,
                     [("s", scales)])
    model.graph.initializer.append(packed)
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    against_onnxruntime(model, whole(3, 0, 5, 3, dtype=np.int64).reshape(2, 2))


def encoder():
    fl.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True, activation="gelu")
    return nn.TransformerEncoder(layer, 2).eval(), fl.randn(2, 6, 32)


def images():
    fl.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2),
                          nn.Hardsigmoid(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
    return model.eval(), fl.randn(2, 3, 9, 9)


@pytest.mark.parametrize("made", [encoder, images])
def test_what_the_optimizer_writes_is_read(made, tmp_path):
    model, x = made()
    written = fl.onnx.export(model, x)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    onnxruntime.InferenceSession(written.SerializeToString(), options,
                                 providers=["CPUExecutionProvider"])
    read = onnx.load(tmp_path / "optimized.onnx")
    assert any(each.domain == DOMAIN for each in read.graph.node)
    with fl.no_grad():
        assert_same(fl.onnx.load(read)(x), model(x), 1e-4, 1e-5)


class Given:
    """Inputs that a quantizer calibrates with."""

    def __init__(self, x):
        self.left = [{"x": fl.randn(*x.shape).numpy()} for _ in range(4)]

    def get_next(self):
        return self.left.pop() if self.left else None


@pytest.mark.parametrize("form", ["dynamic", "QDQ", "QOperator"])
@pytest.mark.parametrize("made", [encoder, images])
def test_what_the_quantizer_writes_is_read(made, form, tmp_path):
    quantization = pytest.importorskip("onnxruntime.quantization", reason="needs onnxruntime")
    model, x = made()
    start, end = tmp_path / "start.onnx", tmp_path / "end.onnx"
    fl.onnx.export(model, x, start, input_names=["x"])
    if form == "dynamic":
        quantization.quantize_dynamic(start, end, reduce_range=True)
    else:
        quantization.quantize_static(start, end, Given(x), reduce_range=True,
                                     quant_format=quantization.QuantFormat[form])
    session = onnxruntime.InferenceSession(end, providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, {"x": x.numpy()})
    with fl.no_grad():
        found = fl.onnx.load(end)(x)
    # A number that lies between two bytes may be rounded to the other one.
    assert np.abs(found.numpy() - wanted).max() <= 0.03 * np.abs(wanted).max()
    assert np.abs(found.numpy() - wanted).mean() <= 0.01 * np.abs(wanted).max()


@pytest.mark.parametrize(("domain", "op", "says"), [
    ("com.microsoft.nchwc", "Conv", "ORT_ENABLE_EXTENDED"),
    ("com.microsoft", "BeamSearch", "before onnxruntime's optimizer or quantizer"),
    ("ai.onnx.ml", "Normalizer", "operators of ai.onnx.ml are not read")])
def test_errors_say_what_to_load_instead(domain, op, says):
    made = helper.make_node(op, ["x"], ["y"], domain=domain)
    model = model_of([made], [("x", 1, [2])], [("y", 1, [2])], 20)
    model.opset_import.append(helper.make_opsetid(domain, 5 if domain == "ai.onnx.ml" else 1))
    with pytest.raises(fl.onnx.ImportedError, match=says):
        fl.onnx.load(model)
