"""Models of functions whose sizes are no sums of multiples of the inputs', or values decide."""

import warnings

import numpy as np
import pytest

import flambeau as fl
from flambeau import nn
from flambeau.core.vision.bins import roi_pool
from flambeau.core.vision.boxes import nms
from flambeau.core.vision.points import roi_align

pytest.importorskip("onnx", reason="needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

F = nn.functional
#: Heights and widths: portrait, landscape, square, odd, small.
SIZES = [(37, 50), (64, 64), (20, 90), (71, 33), (12, 9)]


def padded(x, multiple=4):
    below, beside = -x.shape[2] % multiple, (multiple - x.shape[3] % multiple) % multiple
    return F.pad(x, (0, beside, 0, below))


def windows(x):
    x = padded(x)
    b, c, h, w = x.shape
    return x.view(b, c, h // 4, 4, w // 4, 4).permute(0, 2, 4, 3, 5, 1).reshape(-1, 16, c)


def pyramid(x):
    """Levels added to each other, as feature pyramids do."""
    levels = [x, F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 3, 4, 1)]
    top = levels[-1]
    for level in levels[1::-1]:
        top = level + F.interpolate(top, size=level.shape[-2:], mode="nearest")
    return top


def anchors(x):
    """Points of a grid, moved to their pixels."""
    y = F.avg_pool2d(x, 4)
    h, w = y.shape[-2:]
    down, across = x.shape[2] // h, x.shape[3] // w
    rows = fl.arange(h)[:, None].expand(h, w) * down
    columns = fl.arange(w)[None].expand(h, w) * across
    return fl.stack((rows, columns), -1).reshape(-1, 2), y.flatten(2)


def thresholds(x):
    """Selected pixels, whose number depends on values, beside sizes that vary."""
    scores = F.max_pool2d(x, 2).flatten()
    kept = scores > 0.8
    return scores[kept], fl.where(kept)[0] // (x.shape[3] // 2)


def detect(x):
    """Boxes of a grid with scores, the best that overlap no other."""
    scores = F.avg_pool2d(x[:, :1], 4).flatten()
    at = fl.arange(scores.shape[0])
    corners = fl.stack((at * 3 % 50, at * 5 % 40), 1).float()
    boxes = fl.cat((corners, corners + 9), 1)
    return boxes[nms(boxes, scores, 0.3)][:20]


FUNCTIONS = {
    "layers": nn.Sequential(
        nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Conv2d(4, 4, 2, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5)).eval(),
    "half": lambda x: F.interpolate(x, size=(x.shape[2] // 2, (x.shape[3] + 1) // 3)),
    "part": lambda x: F.interpolate(x, scale_factor=0.37, mode="bilinear"),
    "part, recomputed": lambda x: F.interpolate(
        x, scale_factor=0.37, mode="bilinear", recompute_scale_factor=True),
    "ceil": lambda x: x[:, :, :-(-x.shape[2] // 3)] * 2,
    "last": lambda x: x[:, :, -15:] * 2,
    "power": lambda x: x.flatten(2)[:, :, :int((x.shape[2] * x.shape[3]) ** 0.5)],
    "mean": lambda x: x.sum((2, 3)) / (x.shape[2] * x.shape[3]),
    "padded": padded, "windows": windows, "pyramid": pyramid, "anchors": anchors,
    "thresholds": thresholds, "detect": detect,
    "tensor of sizes": lambda x: fl.tensor([x.shape[2], x.shape[3] // 2]) * 3,
    "selected rows": lambda x: x[:, :, x[0, 0, :, 0] > 0.5].flatten(1),
}


def session_of(model):
    return onnxruntime.InferenceSession(model.SerializeToString(),
                                        providers=["CPUExecutionProvider"])


def check(function, model, given):
    """What onnxruntime computes is what the function does."""
    session = session_of(model)
    found = session.run(None, {each.name: x.numpy() for each, x in zip(
        session.get_inputs(), given, strict=True)})
    wanted = function(*given)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for one, other in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape) == (other.detach().numpy().dtype, tuple(other.shape))
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_images_of_any_size(name):
    function = FUNCTIONS[name]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "onnx.export..: the model is", UserWarning)
        model = fl.onnx.export(function, fl.rand(1, 3, *SIZES[0]), input_names=["x"],
                               dynamic_axes={"x": {2: "h", 3: "w"}})
    for size in SIZES:
        check(function, model, (fl.rand(1, 3, *size),))


OTHER_PATHS = {
    "long": lambda x: padded(x) if x.shape[2] > 200 else windows(x),
    "small": lambda x: x[:, :, -3:].flatten(1) * 2,
    "by a computed number": lambda x: x * 2 if int(x.shape[2] * 0.5) > 200 else x,
}


@pytest.mark.parametrize("name", OTHER_PATHS)
def test_other_paths_of_sizes_are_said(name):
    function = OTHER_PATHS[name]
    with pytest.warns(UserWarning, match="the model is"):
        model = fl.onnx.export(function, fl.rand(1, 3, 40, 50), input_names=["x"],
                               dynamic_axes={"x": {2: "h", 3: "w"}})
    check(function, model, (fl.rand(1, 3, 40, 50),))


def test_a_path_for_every_other_size_is_refused():
    with pytest.raises(fl.jit.TraceError):
        fl.onnx.export(lambda x: windows(x) * 2 if x.shape[3] % 2 else windows(x),
                       fl.rand(1, 3, 40, 50), input_names=["x"], dynamic_axes={"x": {3: "w"}})


def test_an_example_in_another_order_of_memory():
    """As images of files lie, with their colours last."""
    def function(x):
        return x[0][x[0] > 0.5], x[:, 1:]

    image = fl.rand(20, 30, 3).permute(2, 0, 1)
    model = fl.onnx.export(function, image, input_names=["x"], dynamic_axes={"x": {1: "h", 2: "w"}})
    check(function, model, (fl.rand(3, 17, 40),))


def test_sizes_that_are_others_and_a_number():
    """As of a cache of keys, and the mask of all: the function does not ask for others."""
    def attend(x, mask, past):
        every = fl.cat((past, x), 1)
        if mask.shape[1] < every.shape[1]:
            mask = F.pad(mask, (0, every.shape[1] - mask.shape[1]))
        weights = (x @ every.transpose(1, 2)).masked_fill(mask[:, None] == 0, -1e9).softmax(-1)
        return weights @ every, every

    def given(n, past):
        mask = (fl.rand(n, past + 1) > 0.3).long()
        return fl.randn(n, 1, 4), mask, fl.randn(n, past, 4)

    model = fl.onnx.export(attend, given(2, 5), dynamic_axes={
        "x": {0: "n"}, "mask": {0: "n", 1: "past + 1"}, "past": {0: "n", 1: "past"}})
    for n, past in ((2, 5), (1, 1), (3, 9), (2, 2), (4, 40)):
        check(attend, model, given(n, past))


def test_sizes_that_cannot_vary_are_said():
    model = nn.Conv2d(3, 4, 3, 2).eval()
    with pytest.warns(UserWarning, match="do not vary: x_dim1 is 3"):
        written = fl.onnx.export(model, fl.rand(1, 3, 20, 30), input_names=["x"],
                                 dynamic_axes={"x": [0, 1, 2, 3]})
    for shape in ((1, 3, 20, 30), (4, 3, 17, 50)):
        check(model, written, (fl.rand(*shape),))


@pytest.mark.parametrize("ratio", [0, -1])
@pytest.mark.parametrize("aligned", [False, True])
def test_regions_whose_points_depend_on_values(ratio, aligned):
    def function(x, rois):
        return roi_align(x, rois, 0.5, 3, 4, ratio, aligned)

    x = fl.randn(2, 3, 16, 20)
    rois = fl.tensor([[0, 1.0, 2, 30, 20], [1, 3, 3, 9, 28], [1, 0, 0, 2, 2]])
    model = fl.onnx.export(function, (x, rois))
    for boxes in (rois, fl.cat((rois[:, :1], rois[:, 1:] * 0.7), 1)):
        check(function, model, (x, boxes))


def test_maxima_of_regions():
    def function(x, rois):
        return roi_pool(x, rois, 1.0, 2, 3)[0]

    given = fl.randn(2, 3, 16, 20), fl.tensor([[0, 1.0, 2, 13, 9], [1, 3, 3, 9, 12]])
    check(function, fl.onnx.export(function, given), given)
