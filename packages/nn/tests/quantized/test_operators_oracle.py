"""The operators of ``ops.quantized``, called alike in both libraries."""
from __future__ import annotations

import importlib

import numpy as np
import pytest

import flambeau as fl
from flambeau.ao.operators.decomposed import OPERATORS as DECOMPOSED
from flambeau.ao.operators.quantized import OPERATORS
from flambeau.ao.quantization.fused_observer import watched_and_rounded

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
RNG = np.random.default_rng(3)
NUMBERS = {n: RNG.standard_normal(n).astype(np.float32) for n in (
    (2, 6), (4, 6), (6,), (4,), (2, 4, 6, 6), (6, 2, 3, 3), (2, 4, 7), (6, 4, 3), (4, 3, 2, 2))}


def floats(lib, *shape):
    return lib.from_numpy(NUMBERS[shape].copy())


def q(lib, *shape, scale=0.03, zero=100, dtype="quint8"):
    return lib.quantize_per_tensor(floats(lib, *shape), scale, zero, getattr(lib, dtype))


def weight(lib, *shape):
    scales = lib.full((shape[0],), 0.02) * lib.arange(1, shape[0] + 1)
    return lib.quantize_per_channel(floats(lib, *shape), scales,
                                    lib.zeros(shape[0], dtype=lib.int64), 0, lib.qint8)


def linear(name, *args):
    return lambda lib, ops: getattr(ops, name)(
        q(lib, 2, 6), ops.linear_prepack(weight(lib, 4, 6), floats(lib, 4)), *args)


def conv(name, n, shape, kernel, *args):
    def run(lib, ops):
        groups = shape[1] // kernel[1]
        pack = getattr(ops, f"conv{n}d_prepack")(weight(lib, *kernel), floats(lib, 6), [2] * n,
                                                 [1] * n, [1] * n, groups)
        return getattr(ops, name)(q(lib, *shape), pack, *args)
    return run


def transposed(lib, ops):
    w = lib.quantize_per_tensor(floats(lib, 4, 3, 2, 2), 0.02, 0, lib.qint8)
    pack = ops.conv_transpose2d_prepack(w, None, [2, 2], [0, 0], [1, 1], [1, 1], 1)
    return ops.conv_transpose2d(q(lib, 2, 4, 6, 6), pack, 0.1, 90)


def dynamic(name):
    return lambda lib, ops: getattr(ops, name)(
        floats(lib, 2, 6), ops.linear_prepack(weight(lib, 4, 6), floats(lib, 4)), True)


EXACT = {
    "add_relu": lambda lib, o: o.add_relu(q(lib, 2, 6), q(lib, 2, 6), 0.06, 20),
    "add out": lambda lib, o: o.add(q(lib, 2, 6), q(lib, 2, 6), out=q(lib, 2, 6, scale=0.1)),
    "mul": lambda lib, o: o.mul(q(lib, 2, 6), q(lib, 2, 6, scale=0.05, zero=7), 0.06, 128),
    "mul_relu": lambda lib, o: o.mul_relu(q(lib, 2, 6), q(lib, 2, 6), 0.06, 128),
    **{f"{name} {value}": lambda lib, o, name=name, value=value: getattr(o, name)(
        q(lib, 2, 6), value) for value in (0.5, 900.0, -900.0, 0.0, -2.0) for name in (
        "add_scalar", "mul_scalar", "add_scalar_relu", "mul_scalar_relu")},
    "cat": lambda lib, o: o.cat([q(lib, 2, 6), q(lib, 2, 6, scale=0.1)], 1, 0.05, 110),
    "cat of itself": lambda lib, o: o.cat([q(lib, 2, 6), q(lib, 2, 6, scale=0.1)], 0, None, None),
    "cat_relu": lambda lib, o: o.cat_relu([q(lib, 2, 6), q(lib, 2, 6)], 1, 0.05, 110),
    "relu6": lambda lib, o: o.relu6(q(lib, 2, 6, scale=0.1)),
    "clamp": lambda lib, o: o.clamp(q(lib, 2, 6), -0.5, 0.7),
    "threshold": lambda lib, o: o.threshold(q(lib, 2, 6), 0.1, 0.5),
    "max_pool2d": lambda lib, o: o.max_pool2d(q(lib, 2, 4, 6, 6), [2, 2], [2, 2], [0, 0], [1, 1],
                                              False),
    "embedding_byte": lambda lib, o: o.embedding_byte(o.embedding_bag_prepack(rows(lib)),
                                                      lib.tensor([3, 0, 1])),
    "embedding_bag_byte": lambda lib, o: o.embedding_bag_byte(
        o.embedding_bag_prepack(rows(lib)), lib.tensor([3, 0, 1, 2]), lib.tensor([0, 1, 4]),
        mode=0, include_last_offset=True),
    **{f"embedding_bag_{name}_prepack": lambda lib, o, name=name: getattr(
        o, f"embedding_bag_{name}_prepack")(floats(lib, 2, 4, 6, 6).reshape(12, 24))
       for name in ("byte", "4bit", "2bit")},
    **{f"embedding_bag_{name} of a pruned table": lambda lib, o, name=name: pruned(lib, o, name)
       for name in ("byte", "4bit", "2bit")},
    "add_scalar without room": lambda lib, o: o.add_scalar(q(lib, 2, 6), 6.013),
    "add_scalar below": lambda lib, o: o.add_scalar(q(lib, 2, 6), -5.2),
    "the bias of a pack": lambda lib, o: o.linear_prepack(weight(lib, 4, 6),
                                                          floats(lib, 4)).bias(),
    "embedding_bag_4bit_unpack": lambda lib, o: o.embedding_bag_4bit_unpack(
        o.embedding_bag_4bit_prepack(floats(lib, 2, 4, 6, 6).reshape(12, 24))),
    "embedding_bag_4bit_rowwise_offsets": lambda lib, o: o.embedding_bag_4bit_rowwise_offsets(
        o.embedding_bag_4bit_prepack(floats(lib, 2, 4, 6, 6).reshape(12, 24)),
        lib.tensor([3, 0, 11, 2]), lib.tensor([0, 1]), mode=0)}


def pruned(lib, ops, name):
    """Every third row was left out of the table."""
    table = floats(lib, 2, 4, 6, 6).reshape(12, 24)
    packed = getattr(ops, f"embedding_bag_{name}_prepack")(table)
    kept = [i for i in range(12) if i % 3]
    places = [kept.index(i) if i in kept else -1 for i in range(12)]
    return getattr(ops, f"embedding_bag_{name}_rowwise_offsets")(
        packed[kept], lib.tensor([3, 0, 11, 2, 7]), lib.tensor([0, 1, 2]), False, 0, True, None,
        lib.tensor(places, dtype=lib.int32))


def rows(lib):
    return lib.quantize_per_channel(floats(lib, 4, 6), lib.full((4,), 0.03),
                                    lib.tensor([100.5, 99.0, 90.25, 128.0]), 0, lib.quint8)


#: Halves go to either side; the bias is rounded to an integer in PyTorch, and exponentials differ
#: in their last bits.
ONE_STEP = {
    "add": lambda lib, o: o.add(q(lib, 2, 6), q(lib, 2, 6, scale=0.05, zero=7), 0.06, 128),
    "add of a row": lambda lib, o: o.add(q(lib, 2, 6), q(lib, 6), 0.06, 128),
    "linear": linear("linear", 0.1, 120), "linear_relu": linear("linear_relu", 0.1, 20),
    "conv1d": conv("conv1d", 1, (2, 4, 7), (6, 4, 3), 0.1, 100),
    "conv2d": conv("conv2d", 2, (2, 4, 6, 6), (6, 2, 3, 3), 0.1, 100),
    "conv2d_relu": conv("conv2d_relu", 2, (2, 4, 6, 6), (6, 2, 3, 3), 0.1, 100),
    "conv_transpose2d": transposed,
    "sigmoid": lambda lib, o: o.sigmoid(q(lib, 2, 6), 1 / 256, 0),
    "hardswish": lambda lib, o: o.hardswish(q(lib, 2, 6), 0.02, 20),
    "celu": lambda lib, o: o.celu(q(lib, 2, 6), 0.02, 60, 0.7),
    "elu": lambda lib, o: o.elu(q(lib, 2, 6), 0.02, 60, 0.7),
    "leaky_relu": lambda lib, o: o.leaky_relu(q(lib, 2, 6), 0.2, False, 0.02, 30),
    "softmax": lambda lib, o: o.softmax(q(lib, 2, 6), 1, 1 / 256, 0),
    "prelu": lambda lib, o: o.prelu(q(lib, 2, 6), q(lib, 6), 0.02, 100),
    "matmul": lambda lib, o: o.matmul(q(lib, 2, 6), q(lib, 4, 6).transpose(0, 1), 0.1, 100),
    "layer_norm": lambda lib, o: o.layer_norm(q(lib, 2, 6), [6], floats(lib, 6), floats(lib, 6),
                                              1e-5, 0.05, 100),
    "group_norm": lambda lib, o: o.group_norm(q(lib, 2, 4, 6, 6), 2, floats(lib, 4),
                                              floats(lib, 4), 1e-5, 0.05, 100),
    "instance_norm": lambda lib, o: o.instance_norm(q(lib, 2, 4, 6, 6), floats(lib, 4),
                                                    floats(lib, 4), 1e-5, 0.05, 100),
    "batch_norm2d_relu": lambda lib, o: o.batch_norm2d_relu(
        q(lib, 2, 4, 6, 6), floats(lib, 4), floats(lib, 4), floats(lib, 4),
        floats(lib, 4).abs() + 0.1, 1e-5, 0.05, 100)}

CLOSE = {
    "linear_dynamic": dynamic("linear_dynamic"),
    "linear_relu_dynamic": dynamic("linear_relu_dynamic"),
    "linear_dynamic_fp16": lambda lib, o: o.linear_dynamic_fp16(
        floats(lib, 2, 6), o.linear_prepack_fp16(floats(lib, 4, 6), floats(lib, 4))),
    "linear_unpack_fp16": lambda lib, o: o.linear_unpack_fp16(
        o.linear_prepack_fp16(floats(lib, 4, 6) * 1e5, None))[0]}


def both(run):
    return run(fl, fl.ops.quantized), run(torch, torch.ops.quantized)


def integers(x):
    return x.int_repr().numpy().astype(np.int64)


@pytest.mark.parametrize("name", EXACT)
def test_exact(name):
    ours, theirs = both(EXACT[name])
    assert tuple(ours.shape) == tuple(theirs.shape)
    if not theirs.is_quantized:
        assert np.allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-6)
        return
    assert ours.q_scale() == theirs.q_scale() and ours.q_zero_point() == theirs.q_zero_point()
    assert np.array_equal(integers(ours), integers(theirs))


@pytest.mark.parametrize("name", ONE_STEP)
def test_one_step(name):
    ours, theirs = both(ONE_STEP[name])
    assert ours.q_scale() == theirs.q_scale() and ours.q_zero_point() == theirs.q_zero_point()
    assert tuple(ours.shape) == tuple(theirs.shape)
    difference = np.abs(integers(ours) - integers(theirs))
    assert difference.max() <= 1 and difference.mean() < 0.2
    assert integers(ours).std() > 1


@pytest.mark.parametrize("name", CLOSE)
def test_floats(name):
    ours, theirs = both(CLOSE[name])
    assert np.allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-4)


def test_all_names_are_pytorchs():
    assert all(hasattr(torch.ops.quantized, name) for name in OPERATORS
               if not name.endswith("_out") and "." not in name)
    importlib.import_module("torch.ao.quantization.fx._decomposed")
    assert all(hasattr(torch.ops.quantized_decomposed, name.partition(".")[0])
               for name in DECOMPOSED)
    assert fl.ops.quantized.add.overloads() == ["default", "out", "Scalar"]
    with pytest.raises(AttributeError, match="no such operator"):
        fl.ops.quantized.nonsense  # noqa: B018


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("ends", [(-128, 127), (0, 255), (-127, 127)])
def test_watched_and_rounded(symmetric, by_row, ends):
    for size, shift in ((1, 0), (1e-6, 0), (1, 5), (1, -5), (100, 0)):
        x = NUMBERS[4, 6] * np.float32(size) + np.float32(shift)
        found = []
        for lib, function in ((fl, watched_and_rounded),
                              (torch, torch.fused_moving_avg_obs_fake_quant)):
            n, on = 4 if by_row else 1, lib.tensor([1])
            state = [lib.full((n,), float("inf")), lib.full((n,), float("-inf")), lib.ones(n),
                     lib.zeros(n, dtype=lib.int32)]
            if not by_row:
                state[:2] = [each.reshape(()) for each in state[:2]]
            for scale in (1, 2):
                y = function(lib.from_numpy(x * scale), on, on, *state, 0.01, *ends, 0, by_row,
                             symmetric)
            found.append([each.numpy() for each in (y, *state)])
        for ours, theirs in zip(*found, strict=True):
            assert np.allclose(ours, theirs, rtol=1e-6, atol=1e-9), (size, shift)


def test_fake_quantization_with_zero_points_that_are_no_integers():
    x, scale = NUMBERS[4, 6], np.float32([0.1, 0.7, 3.0, 0.01])
    zero = np.float32([6.3, -2.25, 0.5, 9])
    found = []
    for lib in (fl, torch):
        given = lib.from_numpy(x.copy()).requires_grad_()
        made = lib.fake_quantize_per_channel_affine(given, lib.from_numpy(scale),
                                                    lib.from_numpy(zero), 0, 0, 31)
        made.sum().backward()
        found.append((made.detach().numpy(), given.grad.numpy()))
    assert np.allclose(found[0][0], found[1][0], rtol=1e-5, atol=1e-6)
    assert np.array_equal(found[0][1], found[1][1])
