"""Every layer and loss, in onnxruntime, at several batch sizes."""

import numpy as np
import pytest

import flambeau as fl
import flambeau.nn.functional as F
from flambeau import nn

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


def of(*shape):
    """Inputs of a batch: ``b`` stands for its size."""
    return lambda b: (fl.randn(*(b if n == "b" else n for n in shape)),)


IMAGES = {"1d": of("b", 4, 12), "2d": of("b", 4, 8, 8), "3d": of("b", 4, 6, 6, 6)}
SINGLE = {"1d": of(4, 12), "2d": of(4, 8, 8), "3d": of(4, 6, 6, 6)}
ROWS, SCORES = of("b", 16), of("b", 5)
CASES = []


def add(name, inputs, *args, **kwargs):
    CASES.append((name, inputs, args, kwargs))


for name in ("ELU Hardshrink Hardsigmoid Hardtanh Hardswish LeakyReLU LogSigmoid PReLU ReLU ReLU6 "
             "RReLU SELU CELU GELU Sigmoid SiLU Mish Softplus Softshrink Softsign Tanh Tanhshrink "
             "GLU Identity Dropout AlphaDropout FeatureAlphaDropout").split():
    add(name, ROWS)
add("Threshold", ROWS, 0.1, 20.0)
for name in ("Softmin", "Softmax", "LogSoftmax"):
    add(name, ROWS, 1)
add("Softmax2d", IMAGES["2d"])
for n, images in IMAGES.items():
    add("Dropout" + n, images)
    for more in ({}, {"padding": "same"}, {"padding": 1, "padding_mode": "circular"},
                 {"padding": 1, "padding_mode": "reflect"},
                 {"stride": 2, "dilation": 2, "groups": 2, "padding": 2}):
        add("Conv" + n, images, 4, 6, 3, **more)
    for more in ({}, {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2}):
        add("ConvTranspose" + n, images, 4, 6, 3, **more)
    for name in ("Conv", "ConvTranspose"):
        add(name + n, SINGLE[n], 4, 6, 3)
    add("MaxPool" + n, SINGLE[n], 2)
    for args, more in (((2,), {}), ((3, 2, 1), {"ceil_mode": True}),
                       ((2,), {"return_indices": True}), ((3, 2), {"padding": 1, "dilation": 2})):
        add("MaxPool" + n, images, *args, **more)
    for args, more in (((2,), {}), ((3, 2, 1), {"ceil_mode": True}),
                       ((3, 2, 1), {"count_include_pad": False}),
                       ((3, 2, 1), {"ceil_mode": True, "count_include_pad": False})):
        add("AvgPool" + n, images, *args, **more)
    if n != "1d":
        add("AvgPool" + n, images, 3, 2, 1, divisor_override=4)
    add("LPPool" + n, images, 2, 2)
    for size in (1, 3):
        add("AdaptiveAvgPool" + n, images, size)
        add("AdaptiveMaxPool" + n, images, size)
    add("AdaptiveMaxPool" + n, images, 2, return_indices=True)
    for more in ({}, {"affine": False}, {"track_running_stats": False}):
        add("BatchNorm" + n, images, 4, **more)
    add("InstanceNorm" + n, images, 4)
    add("InstanceNorm" + n, images, 4, affine=True, track_running_stats=True)
    add("ConstantPad" + n, images, 1, 0.5)
    for name in ("ReflectionPad", "ReplicationPad", "CircularPad", "ZeroPad"):
        add(name + n, images, 1)
add("BatchNorm1d", ROWS, 16)
for more in ({}, {"elementwise_affine": False}, {"bias": False}):
    add("LayerNorm", ROWS, 16, **more)
for more in ({}, {"elementwise_affine": False}):
    add("RMSNorm", ROWS, 16, **more)
for inputs in (IMAGES["2d"], of("b", 4)):
    add("GroupNorm", inputs, 2, 4)
add("GroupNorm", IMAGES["2d"], 2, 4, affine=False)
for name in ("LocalResponseNorm", "CrossMapLRN2d"):
    add(name, IMAGES["2d"], 3)
for inputs in (ROWS, of("b", 3, 16), of(16)):
    add("Linear", inputs, 16, 4)
add("Linear", ROWS, 16, 4, bias=False)
add("Bilinear", lambda b: (fl.randn(b, 5), fl.randn(b, 6)), 5, 6, 7)
for more in ({}, {"padding_idx": 1}):
    add("Embedding", lambda b: (fl.randint(0, 10, (b, 5)),), 10, 4, **more)
for mode in ("mean", "sum", "max"):
    add("EmbeddingBag", lambda b: (fl.randint(0, 10, (b, 5)),), 10, 4, mode=mode)
add("Flatten", IMAGES["2d"])
add("Unflatten", ROWS, 1, (4, 4))
add("Fold", of("b", 16, 16), (8, 8), 2, stride=2)
add("Unfold", IMAGES["2d"], 3)
for name in ("PixelShuffle", "PixelUnshuffle", "ChannelShuffle"):
    add(name, IMAGES["2d"], 2)
for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
    for more in ({"scale_factor": 2}, {"size": (5, 11)}):
        add("Upsample", IMAGES["2d"], mode=mode, **more)
for mode in ("bilinear", "bicubic"):
    for more in ({}, {"align_corners": True}):
        add("Upsample", IMAGES["2d"], scale_factor=1.7, mode=mode, **more)
add("Upsample", IMAGES["1d"], scale_factor=2, mode="linear")
for more in ({}, {"mode": "trilinear"}):
    add("Upsample", IMAGES["3d"], scale_factor=2, **more)
for name in ("UpsamplingNearest2d", "UpsamplingBilinear2d"):
    add(name, IMAGES["2d"], scale_factor=2)
add("MaxUnpool1d", lambda b: F.max_pool1d(fl.randn(b, 4, 8), 2, return_indices=True), 2)
add("MaxUnpool2d", lambda b: F.max_pool2d(fl.randn(b, 4, 8, 8), 2, return_indices=True), 2)
add("MaxUnpool3d", lambda b: F.max_pool3d(fl.randn(b, 4, 4, 4, 4), 2, return_indices=True), 2)


def pair(b):
    return fl.randn(b, 8), fl.randn(b, 8)


def two(b):
    return fl.randn(b, 4, 16), fl.randn(b, 5, 16)


add("CosineSimilarity", pair)
for p in (1.0, 2.0, 3.0):
    add("PairwiseDistance", pair, p=p)
for name in ("RNN", "GRU", "LSTM"):
    for more in ({}, {"num_layers": 2, "bidirectional": True}, {"bias": False}):
        add(name, of(5, "b", 8), 8, 6, **more)
    add(name, of("b", 5, 8), 8, 6, batch_first=True)
    add(name, of(5, 8), 8, 6)
    add(name + "Cell", of("b", 8), 8, 6)
add("LSTM", of(5, "b", 8), 8, 6, proj_size=3)
add("LSTM", of(5, "b", 8), 8, 6, 2, proj_size=3, bidirectional=True)
add("Transformer", two, 16, 2, 1, 1, 32, batch_first=True)
add("TransformerDecoderLayer", two, 16, 2, 32, batch_first=True)
for more in ({}, {"norm_first": True, "activation": "gelu"}):
    add("TransformerEncoderLayer", of("b", 5, 16), 16, 2, 32, batch_first=True, **more)
add("MultiheadAttention", lambda b: (*two(b), fl.randn(b, 5, 16)), 16, 2, batch_first=True)


def chances(b):
    return fl.rand(b, 5) * 0.9 + 0.05


def classes(b):
    return fl.randint(0, 5, (b,))


def ctc(b):
    return (fl.randn(6, b, 5).log_softmax(2), fl.randint(1, 5, (b, 3)), fl.full((b,), 6),
            fl.randint(0, 4, (b,)))


LOSSES = {
    **dict.fromkeys(("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss"),
                    lambda b: (*SCORES(b), *SCORES(b))),
    "BCELoss": lambda b: (chances(b), chances(b)),
    **dict.fromkeys(("BCEWithLogitsLoss", "KLDivLoss", "PoissonNLLLoss"),
                    lambda b: (*SCORES(b), chances(b))),
    "GaussianNLLLoss": lambda b: (*SCORES(b), *SCORES(b), chances(b)),
    **dict.fromkeys(("SoftMarginLoss", "HingeEmbeddingLoss"),
                    lambda b: (*SCORES(b), fl.randn(b, 5).sign())),
    **dict.fromkeys(("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss"),
                    lambda b: (*SCORES(b), classes(b))),
    "MultiLabelSoftMarginLoss": lambda b: (*SCORES(b), (chances(b) > 0.5).float()),
    "MultiLabelMarginLoss": lambda b: (*SCORES(b), fl.tensor([[1, 2, -1, 0, 0]] * b)),
    "MarginRankingLoss": lambda b: (fl.randn(b), fl.randn(b), fl.randn(b).sign()),
    "CosineEmbeddingLoss": lambda b: (*SCORES(b), *SCORES(b), fl.randn(b).sign()),
    **dict.fromkeys(("TripletMarginLoss", "TripletMarginWithDistanceLoss"),
                    lambda b: (*SCORES(b), *SCORES(b), *SCORES(b))),
    "CTCLoss": ctc}
for name, inputs in LOSSES.items():
    for reduction in ("mean", "sum", "none"):
        add(name, inputs, reduction=reduction)
add("CTCLoss", ctc, blank=2, zero_infinity=True)
add("GaussianNLLLoss", LOSSES["GaussianNLLLoss"], full=True)
add("KLDivLoss", lambda b: (*SCORES(b), fl.randn(b, 5).log_softmax(1)), reduction="batchmean",
    log_target=True)
add("PoissonNLLLoss", lambda b: (chances(b), (chances(b) * 5).round()), log_input=False, full=True)
add("CrossEntropyLoss", lambda b: (*SCORES(b), chances(b).softmax(1)), label_smoothing=0.1)
add("CrossEntropyLoss", lambda b: (fl.randn(b, 5, 4, 4), fl.randint(0, 5, (b, 4, 4))),
    ignore_index=1)

#: Layers that draw random numbers, read values, or are made when they see data.
APART = {"AdaptiveLogSoftmaxWithLoss", "FractionalMaxPool2d", "FractionalMaxPool3d",
         "SyncBatchNorm", "LinearCrossEntropyLoss", "TransformerDecoder", "TransformerEncoder",
         "DataParallel", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList",
         "Sequential", "RNNBase", "RNNCellBase"}


def flat(result):
    if isinstance(result, fl.Tensor):
        return [result]
    return [] if result is None else [each for part in result for each in flat(part)]


def batches(inputs):
    """Where the example's batch of 3 is: names of sizes, by tensor."""
    first, other = inputs(3), inputs(2)
    return {k: {d: "batch" for d, (n, m) in enumerate(zip(a.shape, c.shape, strict=True)) if n != m}
            for k, (a, c) in enumerate(zip(first, other, strict=True))}


def name_of(case):
    name, _, args, kwargs = case
    return f"{name}{args}{kwargs}".replace(" ", "")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_layer_at_several_batch_sizes(case):
    name, inputs, args, kwargs = case
    fl.manual_seed(0)
    module = getattr(nn, name)(*args, **kwargs).eval()
    sizes = {k: dims for k, dims in batches(inputs).items() if dims}
    written = fl.onnx.export(module, inputs(3), dynamic_shapes=sizes or None)
    session = onnxruntime.InferenceSession(written.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    for batch in (3, 1, 5) if sizes else (3,):
        given = inputs(batch)
        with fl.no_grad():
            wanted = flat(module(*(x.clone() for x in given)))
        found = session.run(None, {each.name: x.numpy() for each, x in zip(
            session.get_inputs(), given, strict=True)})
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            assert a.shape == tuple(b.shape) and a.dtype == b.numpy().dtype
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-5, atol=1e-5)


def test_every_layer_is_among_them():
    layers = {name for name in dir(nn) if isinstance(getattr(nn, name), type)
              and issubclass(getattr(nn, name), nn.Module) and not name.startswith("Lazy")}
    assert layers - {case[0] for case in CASES} == APART
