"""Operators of networks in eval mode as machine code: moves bit for bit, sums within rounding."""

import numpy as np
import pytest
from machine_code import Built, assert_close, assert_same_bits, needs_gcc, traced

import flambeau
from flambeau import jit, nn
from flambeau.jit.llvm.machine import machine

F = nn.functional
pytestmark = needs_gcc
#: Sums of decompositions have another order than those of kernels.
ROUNDING = 2e-6


def randn(*shape):
    return flambeau.randn(*shape)


LAYERS = {
    "Conv3d": (nn.Conv3d(2, 4, 2, padding=1), (1, 2, 5, 4, 3)),
    "ConvTranspose1d": (nn.ConvTranspose1d(3, 4, 3, 2), (2, 3, 9)),
    "ConvTranspose2d": (nn.ConvTranspose2d(4, 6, 3, 2, 1, groups=2), (2, 4, 5, 4)),
    "ConvTranspose3d": (nn.ConvTranspose3d(2, 3, 2), (1, 2, 3, 3, 2)),
    "AvgPool1d": (nn.AvgPool1d(2), (2, 3, 8)),
    "AvgPool2d": (nn.AvgPool2d(3, 2, 1), (2, 3, 9, 8)),
    "AvgPool2d without padding": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 9, 8)),
    "AvgPool3d": (nn.AvgPool3d(2), (1, 2, 4, 4, 6)),
    "MaxPool1d": (nn.MaxPool1d(2), (2, 3, 8)),
    "MaxPool3d": (nn.MaxPool3d(2), (1, 2, 4, 6, 4)),
    "LPPool2d": (nn.LPPool2d(2, 2), (1, 2, 4, 6)),
    "AdaptiveAvgPool2d": (nn.AdaptiveAvgPool2d((3, 2)), (2, 3, 7, 5)),
    "AdaptiveMaxPool2d": (nn.AdaptiveMaxPool2d((2, 3)), (2, 3, 7, 5)),
    "GroupNorm": (nn.GroupNorm(2, 4), (2, 4, 5, 3)),
    "InstanceNorm2d": (nn.InstanceNorm2d(3, affine=True), (2, 3, 5, 4)),
    "LSTM": (nn.LSTM(4, 8, batch_first=True), (2, 5, 4)),
    "LSTM both ways": (nn.LSTM(4, 8, 2, bidirectional=True), (5, 2, 4)),
    "LSTM projected": (nn.LSTM(4, 8, proj_size=3), (5, 2, 4)),
    "GRU": (nn.GRU(4, 8, num_layers=2), (5, 1, 4)),
    "RNN": (nn.RNN(4, 8, nonlinearity="relu"), (5, 2, 4)),
    "LSTMCell": (nn.LSTMCell(4, 8), (2, 4)),
    "GRUCell": (nn.GRUCell(4, 8), (2, 4)),
    "Unfold": (nn.Unfold(2, padding=1), (1, 2, 4, 3)),
    "Fold": (nn.Fold((4, 4), 2), (1, 8, 9)),
    "Softmin": (nn.Sequential(nn.Linear(4, 4), nn.Softmin(0)), (3, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, tmp_path):
    layer, shape = LAYERS[name]
    layer.eval()
    assert_close(lambda x: _flat(layer(x)), [randn(*shape)], tmp_path, ROUNDING)


def _flat(results):
    if isinstance(results, tuple):
        return tuple(each for result in results
                     for each in (_flat(result) if isinstance(result, tuple) else (result,)))
    return results


MOVES = {
    "cat": lambda a: flambeau.cat([a, a[:, :1] * 2, a], 1),
    "cat of bools": lambda a: flambeau.cat([a > 0, a < 1], 0),
    "stack": lambda a: flambeau.stack([a, a.transpose(0, 1).reshape(a.shape)], 1),
    "gather": lambda a: a.gather(1, flambeau.tensor([[7, 0], [1, 1], [2, 3], [0, 0]])),
    "index_select": lambda a: a.index_select(1, flambeau.tensor([1, 0, 7])),
    "index": lambda a: (a[:, flambeau.tensor([[1, -1], [0, -8]])], a[flambeau.tensor([3, -4])]),
    "flip": lambda a: a.flip(1, 0), "roll": lambda a: a.roll(3, 1),
    "tril": lambda a: (a.tril(), a.triu(1)),
    "repeat": lambda a: (a.repeat(2, 1), a.repeat_interleave(2, 1)),
    "pad": lambda a: (F.pad(a, (1, 2), value=3.0), F.pad(a, (-1, 2, 1, -2))),
    "reflect": lambda a: F.pad(a[None], (2, 3), mode="reflect"),
    "replicate": lambda a: F.pad(a[None], (2, 3), mode="replicate"),
    "circular": lambda a: F.pad(a[None], (2, 3), mode="circular"),
    "argmax": lambda a: (a.argmax(-1), a.argmax(0), a.argmax(), a.argmin(1, keepdim=True)),
    "max": lambda a: (*a.max(1), *a.min(0)),
    "tests": lambda a: ((a > 0).any(1), (a > -1).all(0), (a > 9).any(), (a > -9).all()),
    "counts": lambda a: ((a > 0).sum(1), (a > 0).long().sum(), (a * 9).int().sum(0)),
    "one_hot": lambda a: F.one_hot(a.argmax(1), 8),
    "matrix": lambda a: a.t() * 2, "ones": lambda a: flambeau.ones(3) + a[:, :3],
}


@pytest.mark.parametrize("name", MOVES)
def test_moves_and_searches_to_the_bit(name, tmp_path):
    assert_close(MOVES[name], [randn(4, 8)], tmp_path, 0)


def test_searches_with_nan_and_equal_elements(tmp_path):
    x = flambeau.tensor([[1.0, 3.0, 3.0], [1.0, float("nan"), 2.0], [float("-inf")] * 3,
                         [float("nan"), 1.0, float("nan")]])
    assert_close(lambda a: (*a.max(1), *a.min(1), a.argmax(0)), [x], tmp_path, 0)


def places(a):
    return (a.abs() * 3).long() % a.shape[1]


SCANS = {
    "cumsum": lambda a: (a.cumsum(0), a.cumsum(1), (a > 0).long().cumsum(1)),
    "sort": lambda a: (*a.sort(1), *a.sort(0, descending=True), a.argsort(1)),
    "topk": lambda a: (*a.topk(3, 1), *a.topk(2, 0, largest=False), *a.topk(1, 1)),
    "order": lambda a: (*a.kthvalue(2, 1), a.quantile(0.5, 1)),
    "scatter": lambda a: (a.scatter(1, places(a), 7.0), a.scatter(1, places(a)[:, :3], a * 2),
                          a.scatter(0, places(a)[:2] % 4, a)),
    "scatter_add": lambda a: (a.scatter_add(1, places(a), a), a.scatter_add(0, places(a) % 4, a),
                              a.scatter_add(1, places(a)[:2, :5], a)),
    "counts": lambda a: flambeau.zeros(4, 8, dtype=flambeau.int64).scatter_add(
        1, places(a), places(a)),
    "index_put": lambda a: (a.index_put((flambeau.tensor([1, -1]),), a[:2] * 2),
                            a.index_put((flambeau.tensor([1, 1]),), a[:2], accumulate=True),
                            a.index_put((flambeau.tensor([1]),), flambeau.tensor(5.0))),
    "index_add": lambda a: (a.index_add(0, flambeau.tensor([0, 0, 3]), a[:3]),
                            a.index_add(1, flambeau.tensor([2, 7]), a[:, :2])),
    "nearest": lambda a: (F.interpolate(a.view(1, 2, 4, 4), scale_factor=2),
                          F.interpolate(a.view(1, 2, 4, 4), size=(7, 3)),
                          F.interpolate(a.view(1, 2, 4, 4), scale_factor=1.7, mode="nearest-exact"),
                          F.interpolate(a.view(4, 2, 4), scale_factor=3)),
    "moved": lambda a: (a.t().sort(0)[0], a.t().cumsum(1), a.t().scatter_add(
        0, places(a).t(), a.t())),
}


@pytest.mark.parametrize("name", SCANS)
def test_order_and_written_elements_to_the_bit(name, tmp_path):
    assert_close(SCANS[name], [randn(4, 8)], tmp_path, 0)


def test_the_order_of_nan_and_of_equal_elements(tmp_path):
    nan = float("nan")
    x = flambeau.tensor([[1.0, 3.0, 3.0, nan, 1.0], [0.0, -0.0, nan, nan, 0.0],
                         [float("inf"), float("-inf"), nan, 0.0, float("inf")]])
    assert_close(lambda a: (*a.sort(1), *a.sort(1, descending=True), *a.sort(0)), [x], tmp_path, 0)


RESIZED = {
    "bilinear": {"mode": "bilinear", "scale_factor": 2},
    "with corners": {"mode": "bilinear", "size": (7, 5), "align_corners": True},
    "smaller": {"mode": "bilinear", "size": (3, 2)},
    "bicubic": {"mode": "bicubic", "scale_factor": 1.6},
    "without aliases": {"mode": "bilinear", "size": (2, 3), "antialias": True},
}


@pytest.mark.parametrize("name", RESIZED)
def test_images_in_other_sizes(name, tmp_path):
    assert_close(lambda a: F.interpolate(a, **RESIZED[name]), [randn(2, 3, 4, 6)], tmp_path,
                 ROUNDING)


def test_sequences_and_volumes_in_other_sizes(tmp_path):
    assert_close(lambda a: (F.interpolate(a[0], scale_factor=2, mode="linear"),
                            F.interpolate(a[None], size=(3, 5, 9), mode="trilinear")),
                 [randn(2, 3, 4, 6)], tmp_path, ROUNDING)


def test_products(tmp_path):
    assert_close(lambda a: (a.prod(1), a.prod(0), a.prod(), a.cumprod(1)), [randn(4, 8)], tmp_path,
                 ROUNDING)


def test_an_index_outside_of_what_is_written_is_told(tmp_path):
    x, which = randn(4, 8), flambeau.tensor([1, 2])
    functions = (lambda a, k: a.index_add(1, k, a[:, :2]), lambda a, k: a.index_put((k,), a[:2]),
                 lambda a, k: a.scatter(1, k[None], 1.0), lambda a, k: a.scatter_add(
                     1, k[None], a))
    for fn in functions:
        built = Built(traced(fn, [x, which]), tmp_path)
        assert built([x.numpy(), which.numpy()], [(4, 8)])[0] == 0
        assert built([x.numpy(), np.array([0, 8])], [(4, 8)])[0] == 1


SUMS = {
    "var": lambda a: (a.var(1), a.std(0), a.var((0, 1), correction=0, keepdim=True)),
    "logsumexp": lambda a: (a.logsumexp(1), a.logsumexp(0)),
    "norm": lambda a: (a.norm(dim=1), F.normalize(a)),
    "softmax": lambda a: (a.softmax(0), a.view(2, 2, 8).log_softmax(1)),
    "gaps": lambda a: (a.view(2, 2, 8).mean((0, 2)), a.view(2, 2, 8).amax((0, 2), keepdim=True)),
    "vectors": lambda a: (a @ a[0], a[0] @ a.T, a[1] @ a[0]),
    "addmm": lambda a: (flambeau.addmm(a[0, :4], a, a.T), flambeau.einsum("ij,kj->ik", a, a)),
    "causal": lambda a: F.scaled_dot_product_attention(a[None], a[None] * 2, a[None],
                                                       is_causal=True),
}


#: Levels of instructions up to this processor's.
LEVELS = [level for level in ("x86-64-v3", "x86-64-v4") if level <= machine().cpu] or ["native"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("terms", [1, 3, 8, 17])
def test_sums_of_fewer_terms_than_a_vector_has(level, terms, tmp_path):
    def heads(a):
        return F.scaled_dot_product_attention(a[None], a[None] * 2, a[None])

    assert_close(heads, [randn(4, terms)], tmp_path, ROUNDING, target=level)


@pytest.mark.parametrize("name", SUMS)
def test_sums_within_rounding(name, tmp_path):
    assert_close(SUMS[name], [randn(4, 8)], tmp_path, ROUNDING)


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16], ids=str)
def test_weights_in_half_precision(dtype, tmp_path):
    """Stored in half precision, multiplied in float32, rounded at the end."""
    model = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 8)).to(dtype).eval()
    step = 2.0 ** (-9 if dtype == flambeau.float16 else -7)
    built = assert_close(model, [randn(3, 16).to(dtype)], tmp_path, step)
    assert built.made.weight_bytes < 2 * (16 * 24 + 24 * 8 + 32) + 6 * 64
    conv = nn.Conv2d(3, 4, 3).to(dtype).eval()
    assert_close(conv, [randn(1, 3, 6, 6).to(dtype)], tmp_path, step)


def test_an_index_outside_is_told(tmp_path):
    x, which = randn(4, 8), flambeau.tensor([1, 2])
    for number, fn in enumerate((lambda a, k: a[:, k], lambda a, k: a.index_select(1, k),
                                 lambda a, k: a.gather(1, k[None]))):
        built = Built(traced(fn, [x, which]), tmp_path)
        shape = (1, 2) if number == 2 else (4, 2)
        assert built([x.numpy(), which.numpy()], [shape])[0] == 0
        assert built([x.numpy(), np.array([0, 8])], [shape])[0] == 1
        is_counted_from_the_end = number == 0
        status = built([x.numpy(), np.array([0, -8])], [shape])[0]
        assert status == (0 if is_counted_from_the_end else 1)


@pytest.mark.parametrize(("border", "align"), [
    ("zeros", False), ("border", True), ("reflection", False), ("reflection", True)])
@pytest.mark.parametrize(("size", "mode"), [
    ((5, 7), "bilinear"), ((5, 7), "nearest"), ((5, 7), "bicubic"), ((4, 5, 6), "bilinear"),
    ((4, 5, 6), "nearest"), ((1, 3), "bilinear"), ((1, 3), "bicubic")])
def test_points_of_a_grid(size, mode, border, align, tmp_path):
    flambeau.manual_seed(len(size))
    x, grid = randn(2, 3, *size), randn(2, *range(2, 2 + len(size)), len(size)) * 1.5
    special = flambeau.tensor([float("nan"), float("inf"), -float("inf"), -1.0, 1.0, 1e20])
    grid.view(-1)[:6] = special
    assert_same_bits(lambda x, grid: F.grid_sample(x, grid, mode, border, align), [x, grid],
                     tmp_path)


def test_random_orders_are_refused(tmp_path):
    with pytest.raises(jit.ProgramError, match="random"):
        jit.aot(traced(lambda a: a + flambeau.randperm(8), [randn(4, 8)]), tmp_path / "none.o")
