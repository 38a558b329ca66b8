"""Results whose sizes depend on values, as ONNX models: onnxruntime finds what Python finds."""

import warnings

import numpy as np
import pytest

import flambeau as fl
from flambeau import jit, nn
from flambeau.core.vision.boxes import nms
from flambeau.jit.recording.value_traces import trace_with_value_sizes

pytest.importorskip("onnx", reason="needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


def runner(function, *examples):
    """What onnxruntime computes with the model of a function, and `onnx.load` as well."""
    model = fl.onnx.export(function, examples)
    read = fl.onnx.load(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]

    def run(*given):
        found = session.run(None, dict(zip(names, (x.numpy() for x in given), strict=True)))
        here = read(*given)
        for a, b in zip(found, here if isinstance(here, tuple) else (here,), strict=True):
            assert (a.dtype, a.shape) == (b.detach().numpy().dtype, tuple(b.shape))
            np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-5, atol=1e-6)
        return found

    return run


def compare(function, *inputs):
    """A model of the first input's shape, beside the function on all of them."""
    run = runner(function, *inputs[0])
    for given in inputs:
        wanted = function(*given)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for found, value in zip(run(*given), wanted, strict=True):
            assert (found.dtype, found.shape) == (value.numpy().dtype, tuple(value.shape))
            np.testing.assert_allclose(found, value.numpy(), rtol=1e-5, atol=1e-6)


def images(*shape, dtype=fl.float32):
    """Tensors with values above and below 0, with none above, with all, and with NaN."""
    draws = [fl.randn(*shape) * 3 for _ in range(3)]
    every = [*draws, -fl.ones(*shape), fl.ones(*shape) * 2]
    if dtype.is_floating_point:
        every.append(fl.where(draws[0] > 1, draws[0], float("nan")))
    return [(x.to(dtype),) for x in every]


def written(x):
    y = x.clone()
    y[fl.where(x > 0)[0]] = x[x > 0].unsqueeze(1) * 2
    return y


FUNCTIONS = {
    "mask": lambda x: x[x > 0] * 2,
    "nonzero": lambda x: (x > 0).nonzero(),
    "where": lambda x: fl.where(x > 0),
    "nonzero tuple": lambda x: x.nonzero(as_tuple=True),
    "masked_select of rows": lambda x: x.masked_select((x > 0)[:1]),
    "rows": lambda x: x[x[:, 0] > 0].sum(1),
    "rows by index": lambda x: x[fl.where(x[:, 0] > 0)[0]].reshape(-1, 2),
    "columns": lambda x: x.t()[x[0] > 0].t() + x[:, :1],
    "same mask twice": lambda x: x[x > 0] + x.square()[x > 0],
    "joined": lambda x: fl.cat([x[x > 0], x[x < -1] * 2, x[0]]).view(1, -1),
    "joined and split": lambda x: fl.cat([x[x > 0], x[x > 1]]).repeat(3).reshape(3, -1)[1],
    "first": lambda x: x[x > 0][:3],
    "last": lambda x: x[x > 0][-3:],
    "all but the first": lambda x: x[x > 0][2:] + 1,
    "every other": lambda x: x[x > 0][1:9:2],
    "first of first": lambda x: x[x > 0][:5][:2] * 2,
    "mask of a selection": lambda x: x[x > 0][x[x > 0] > 1],
    "sorted": lambda x: x[x > 0].sort(descending=True)[0],
    "cumsum": lambda x: x[x > 0].cumsum(0),
    "unique": lambda x: x.round().unique(),
    "all pairs": lambda x: x[x > 0][:, None] * x[x < 0],
    "sum": lambda x: x[x > 0].sum(),
    "all pairs in a row": lambda x: (x[x > 0][:, None] * x[x < 0]).flatten(),
    "outer": lambda x: x[x > 0][:, None] * x[0],
    "layer": lambda x: x[x[:, 0] > 0] @ x.t(),
    "index_put": lambda x: fl.zeros_like(x).index_put((fl.where(x > 0)), x[x > 0]),
    "numbers": lambda x: fl.arange(x[x > 0].shape[0]) * 2,
    "zeros": lambda x: x[x > 0].new_zeros(x[x > 0].numel(), 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    compare(FUNCTIONS[name], *images(4, 6))


@pytest.mark.parametrize(("name", "dtype"), [
    (name, dtype) for dtype in (fl.float64, fl.int64, fl.int32, fl.uint8, fl.bool)
    for name in ("mask", "where", "rows by index", "joined", "last")
    if dtype is not fl.bool or name not in ("mask", "joined")], ids=str)
def test_dtypes(name, dtype):
    function = FUNCTIONS[name]
    compare(function, *((x.abs() if dtype is fl.uint8 else x,) for x, in images(4, 6, dtype=dtype)))


def test_writes_into_rows_that_values_choose():
    compare(written, *images(6, 1))


def test_the_least_of_a_size_and_a_number():
    """As torchvision asks for the best boxes: an integer tensor is the argument of ``topk``."""
    def best(x):
        chosen = x[x > 0]
        size = fl.full((), chosen.shape[0], dtype=fl.int64)
        return chosen.topk(fl.minimum(size, fl.tensor(4)))

    compare(best, *images(4, 6))


def test_a_number_that_constants_decide_is_no_size():
    def function(x):
        return x[x > 0], x.topk(fl.minimum(fl.tensor(9), fl.full((), x.shape[1], dtype=fl.int64)))

    run = runner(lambda x: (function(x)[0], *function(x)[1]), fl.randn(2, 5))
    assert run(fl.randn(2, 5))[1].shape == (2, 5)


def boxes(count, seed=0):
    generator = fl.Generator().manual_seed(seed)
    corners = fl.rand(count, 2, generator=generator) * 50
    return fl.cat([corners, corners + 5 + fl.rand(count, 2, generator=generator) * 30], 1)


def by_class(rows, scores, classes, threshold):
    """Boxes of different classes are moved apart, as torchvision does."""
    if rows.numel() == 0:
        return fl.empty((0,), dtype=fl.int64)
    moved = rows + (classes.to(rows) * (rows.max() + 1))[:, None]
    return nms(moved, scores, threshold)


class Detector(nn.Module):
    """Boxes and scores by levels; the best of each class, rows of features read for them."""

    def __init__(self, least):
        super().__init__()
        self.least = least
        self.features = nn.Conv2d(3, 8, 3, 2, 1)
        self.heads = nn.ModuleList(nn.Conv2d(8, 3, 1) for _ in range(2))
        self.last = nn.Linear(8, 4)
        self.boxes = [boxes(count, count) for count in (64, 16)]

    def forward(self, image):
        h = self.features(image[None])
        every = []
        for level, head in enumerate(self.heads):
            h = nn.functional.max_pool2d(h, 2)
            scores = head(h)[0].sigmoid().permute(1, 2, 0).reshape(-1, 3)
            rows = self.boxes[level]
            places, classes = fl.where(scores > self.least)
            chosen = scores[scores > self.least]
            most = fl.minimum(fl.full((), chosen.shape[0], dtype=fl.int64), fl.tensor(20))
            best, at = chosen.topk(most)
            every.append((rows[places[at]], best, classes[at], h[0].flatten(1).t()[places[at]]))
        rows, scores, classes, features = (fl.cat(each) for each in zip(*every, strict=True))
        keep = by_class(rows, scores, classes, 0.3)[:10]
        kept = fl.zeros(keep.shape[0], 4)
        for each in range(3):
            here = fl.where(classes[keep] == each)[0]
            kept[here] = self.last(features[keep][here]) + each
        return {"boxes": rows[keep], "scores": scores[keep], "labels": classes[keep], "kept": kept}


@pytest.mark.parametrize("least", [0.3, 0.55, 0.9999])
def test_detector(least):
    fl.manual_seed(3)
    net = Detector(least).eval()
    draws = [fl.rand(3, 32, 32) * scale for scale in (1, 2, 0)]
    with fl.no_grad():
        run = runner(net, draws[0])
        for x in draws:
            for found, (name, wanted) in zip(run(x), net(x).items(), strict=True):
                assert found.shape == tuple(wanted.shape), name
                np.testing.assert_allclose(found, wanted.numpy(), atol=1e-5, rtol=1e-5)


def test_nms():
    def function(rows, scores):
        keep = scores > 0.5
        return nms(rows[keep], scores[keep], 0.3)

    compare(function, *((boxes(40, seed), fl.rand(40)) for seed in range(4)),
            (boxes(40), fl.zeros(40)))


def test_other_paths_are_said():
    """Python takes another way from 101 elements on; the model does not."""
    def function(x):
        chosen = x[x > 0]
        return chosen * 2 if chosen.numel() > 100 else chosen * 3

    with pytest.warns(UserWarning, match=r"for 101 elements Python takes another path at .*:\d+"):
        fl.onnx.export(function, (fl.randn(8),))


def test_results_of_other_shapes_for_one_are_said():
    with pytest.warns(UserWarning, match="for 1 elements"):
        fl.onnx.export(lambda x: x[x > 0].squeeze(), (fl.randn(8),))


def test_operators_that_need_an_element_are_said():
    """Not one is unlike the one before it: the graph has a size of -1, where Python returns."""
    with pytest.warns(UserWarning, match="for 0 elements"):
        fl.onnx.export(lambda x: x[x > 0].unique(), (fl.randn(8),))


def test_results_for_none_are_said():
    def function(x):
        chosen = x[x > 0]
        return x[:1] if chosen.shape[0] == 0 else chosen

    with pytest.warns(UserWarning, match="for 0 elements"):
        fl.onnx.export(function, (fl.randn(8),))


@pytest.mark.parametrize(("function", "why"), [
    (lambda x: x[: int(x[0].abs())], "reads a value"),
    (lambda x: x * 2 if x[x > 0].sum() > 1 else x, "reads a value"),
    (lambda x: fl.tensor(x[x > 0].shape[0]), "differs from run to run"),
    (lambda x: fl.stack([each * 2 for each in x[x > 0]]), "Python"),
    (lambda x: x[x > 0] + x[x < 0], "broadcast"),
], ids=["slice", "branch", "tensor of a size", "loop", "two masks"])
def test_refused(function, why):
    with pytest.raises((jit.TraceError, RuntimeError), match=why):
        fl.onnx.export(function, (fl.randn(8),))


def test_the_program_that_is_written_runs_here_as_well():
    program, *others = trace_with_value_sizes(FUNCTIONS["joined"], (fl.randn(4, 6),), {})
    assert not any(others)
    for x, in images(4, 6):
        assert fl.equal(program(x).nan_to_num(), FUNCTIONS["joined"](x).nan_to_num())


def test_no_warning_where_nothing_else_happens():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fl.onnx.export(FUNCTIONS["joined"], (fl.randn(4, 6),))
