"""Integers, numbers and texts as PyTorch has them, over random scales, dtypes and views."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
DTYPES = ("qint8", "quint8", "qint32")


def both(numbers, dtype, scale, zero):
    return [lib.quantize_per_tensor(lib.from_numpy(numbers), scale, zero, getattr(lib, dtype))
            for lib in (fl, torch)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_tensors(dtype):
    rng = np.random.default_rng(5)
    for _ in range(150):
        numbers = (rng.standard_normal(int(rng.integers(0, 70))) * 10).astype(np.float32)
        numbers[rng.random(numbers.shape) < 0.05] = np.nan if dtype != "qint32" else 0.0
        numbers[rng.random(numbers.shape) < 0.05] = np.inf if dtype != "qint32" else 1.0
        scale = float(rng.choice([0.1, 1.0, 0.0078125, rng.random() + 1e-3]))
        ours, theirs = both(numbers, dtype, scale, int(rng.integers(0, 100)))
        assert np.array_equal(ours.int_repr().numpy(), theirs.int_repr().numpy())
        assert np.array_equal(ours.dequantize().numpy(), theirs.dequantize().numpy())


@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_random_channels(dtype):
    rng = np.random.default_rng(6)
    for round_ in range(60):
        shape = tuple(rng.integers(1, 6, int(rng.integers(1, 4))))
        axis = int(rng.integers(len(shape)))
        numbers = (rng.standard_normal(shape) * 5).astype(np.float32)
        scales = rng.random(shape[axis]) + 0.01
        zeros = rng.integers(0, 50, shape[axis])
        if round_ % 3 == 0:
            scales, zeros = scales.astype(np.float32), zeros.astype(np.float32) + 0.25
        ours, theirs = [lib.quantize_per_channel(
            lib.from_numpy(numbers), lib.from_numpy(scales), lib.from_numpy(zeros), axis,
            getattr(lib, dtype)) for lib in (fl, torch)]
        assert np.array_equal(ours.int_repr().numpy(), theirs.int_repr().numpy())
        assert np.allclose(ours.dequantize().numpy(), theirs.dequantize().numpy(), rtol=1e-6)


CALLS = {
    "relu": lambda m, q: q.relu(), "max": lambda m, q: q.max(), "mean": lambda m, q: q.mean(1),
    "sigmoid": lambda m, q: q.sigmoid(), "tanh": lambda m, q: q.tanh(),
    "clamp": lambda m, q: q.clamp(-0.5, 0.7), "hardsigmoid": lambda m, q: m.hardsigmoid(q),
    "leaky_relu": lambda m, q: m.leaky_relu(q, 0.1), "pad": lambda m, q: m.pad(q, (1, 2)),
    "avg_pool2d": lambda m, q: m.avg_pool2d(q.reshape(1, 1, 6, 6), 2),
    "max_pool2d": lambda m, q: m.max_pool2d(q.reshape(1, 1, 6, 6), 3, 1, 1),
    "adaptive": lambda m, q: m.adaptive_avg_pool2d(q.reshape(1, 1, 6, 6), 2),
    "sort": lambda m, q: q.sort(1)[0], "topk": lambda m, q: q.topk(2)[0],
    "less": lambda m, q: q < 0.3, "masked": lambda m, q: q.masked_fill(q < 0.3, 0.2)}

AVERAGES = ("mean", "avg_pool2d", "adaptive", "leaky_relu")


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    functional = pytest.importorskip("flambeau.nn.functional", reason="needs flambeau-nn")
    rng = np.random.default_rng(7)
    for dtype in ("quint8", "qint8"):
        for _ in range(5):
            numbers = rng.standard_normal((6, 6)).astype(np.float32)
            ours, theirs = both(numbers, dtype, float(rng.random() / 20 + 0.01), 17)
            got = CALLS[name](functional, ours)
            wanted = CALLS[name](torch.nn.functional, theirs)
            if not wanted.is_quantized:
                assert np.array_equal(got.numpy(), wanted.numpy())
                continue
            assert (got.q_scale(), got.q_zero_point()) == (wanted.q_scale(), wanted.q_zero_point())
            apart = np.abs(got.int_repr().int().numpy() - wanted.int_repr().int().numpy())
            if name in AVERAGES:        # PyTorch rounds halves to either side
                assert apart.max() <= 1 and apart.mean() < 0.2
                continue
            assert apart.max() == 0
            assert "".join(str(got).split()) == "".join(str(wanted).split()).replace(
                "torch.", "flambeau.")


def test_dynamic_scales():
    rng = np.random.default_rng(8)
    for _ in range(100):
        numbers = (rng.standard_normal(9) * rng.choice([0.01, 1, 100])
                   + rng.choice([-3, 0, 3])).astype(np.float32)
        for dtype in ("quint8", "qint8"):
            for reduce_range in (False, True):
                ours, theirs = [lib.quantize_per_tensor_dynamic(
                    lib.from_numpy(numbers), getattr(lib, dtype), reduce_range)
                    for lib in (fl, torch)]
                assert ours.q_scale() == pytest.approx(theirs.q_scale(), rel=1e-6)
                assert ours.q_zero_point() == theirs.q_zero_point()


POOLS = [(1, (2,), {}), (1, 3, {"stride": 1, "padding": 1, "ceil_mode": True}),
         (2, 2, {}), (2, (3, 2), {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}),
         (2, 3, {"stride": [], "ceil_mode": True}), (3, (2, 2, 2), {}),
         (3, (3, 2, 1), {"stride": (1, 2, 1), "padding": (1, 0, 0)})]


@pytest.mark.parametrize("n,kernel,options", POOLS, ids=str)
@pytest.mark.parametrize("dtype", ["quint8", "qint8"])
def test_maxima_by_their_names(n, kernel, options, dtype):
    numbers = np.random.default_rng(n).standard_normal((2, 3, *[7] * n)).astype(np.float32)
    ours, theirs = (getattr(lib, f"quantized_max_pool{n}d")(
        lib.quantize_per_tensor(lib.from_numpy(numbers), 0.05, 10, getattr(lib, dtype)),
        kernel, **options) for lib in (fl, torch))
    assert ours.q_scale() == theirs.q_scale() and ours.q_zero_point() == theirs.q_zero_point()
    np.testing.assert_array_equal(ours.int_repr().numpy(), theirs.int_repr().numpy())


@pytest.mark.parametrize("dtype", ["quint8", "qint8"])
@pytest.mark.parametrize("shape", [(2, 5, 6, 7), (2, 5, 3, 4, 5)], ids=str)
def test_batch_norm(dtype, shape):
    rng = np.random.default_rng(4)
    numbers = rng.standard_normal(shape).astype(np.float32)
    channels = [rng.random(5).astype(np.float32) + 0.1 for _ in range(4)]

    def run(lib):
        x = lib.quantize_per_tensor(lib.from_numpy(numbers), 0.05, 3, getattr(lib, dtype))
        return lib.quantized_batch_norm(x, *map(lib.from_numpy, channels), 1e-5, 0.07, 11)

    ours, theirs = run(fl), run(torch)
    assert ours.q_scale() == theirs.q_scale() and ours.q_zero_point() == theirs.q_zero_point()
    apart = ours.int_repr().numpy().astype(int) - theirs.int_repr().numpy()
    assert np.abs(apart).max() <= 1 and (apart != 0).mean() < 0.01


def test_named_functions_refuse_floats():
    x, one = fl.ones(1, 2, 4, 4), fl.ones(2)
    with pytest.raises(TypeError, match="the input must be quantized"):
        fl.quantized_max_pool2d(x, 2)
    with pytest.raises(TypeError, match="weight and bias must be given"):
        fl.quantized_batch_norm(fl.quantize_per_tensor(x, 0.1, 0, fl.quint8), None, None, one, one,
                                0.0, 1.0, 0)
    by_channel = fl.quantize_per_channel(x, one.double(), fl.zeros(2).long(), 1, fl.qint8)
    with pytest.raises(RuntimeError, match="scale for each index"):
        fl.quantized_max_pool2d(by_channel, 2)
