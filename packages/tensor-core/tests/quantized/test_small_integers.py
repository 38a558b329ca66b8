"""Integers of 4 and 2 bits, scales of small numbers, and moved channels: as PyTorch has them."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl

NAMES = ("quint4x2", "quint2x4")


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (2, 4), (2, 3, 3)])
def test_a_byte_holds_several(dtype, shape):
    bits = 4 if dtype == "quint4x2" else 2
    x = fl.rand(*shape) * 20 - 2
    q = fl.quantize_per_tensor(x, 0.5, 2, getattr(fl, dtype))
    steps = np.round(x.numpy() * np.float32(2.0)).astype(np.int64)
    wanted = np.clip(steps + 2, 0, 2**bits - 1).reshape(-1)
    got = q.int_repr().tolist()
    each = 8 // bits
    unpacked = [byte >> bits * i & (1 << bits) - 1 for byte in got for i in range(each)]
    assert unpacked[:len(wanted)] == wanted.tolist() and not any(unpacked[len(wanted):])
    assert np.array_equal(q.dequantize().numpy().reshape(-1), (wanted - 2) * np.float32(0.5))
    assert q.storage().size() == len(got) == -(-len(wanted) // each)


def test_limits():
    assert (fl.iinfo(fl.qint8).min, fl.iinfo(fl.quint8).max, fl.iinfo(fl.qint32).bits) == \
        (-128, 255, 32)
    assert fl.iinfo(fl.qint8).dtype == "qint8" and not fl.quint4x2.is_signed


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["quint8", "qint8"])
@pytest.mark.parametrize("reduced", [False, True])
def test_dynamic_scales(torch, dtype, reduced):
    rng = np.random.default_rng(0)
    for size in (0.0, 1e-45, 1e-40, 1e-6, 1e-2, 1.0, 1e4):
        for ends in ([0, 1], [-1, 0], [-0.3, 1], [-1, 0.1], [0.55, 1], *rng.normal(size=(8, 2))):
            x = np.array(ends, np.float32) * np.float32(size)
            theirs = torch.quantize_per_tensor_dynamic(
                torch.from_numpy(x), getattr(torch, dtype), reduced)
            ours = fl.quantize_per_tensor_dynamic(fl.tensor(x), getattr(fl, dtype), reduced)
            assert ours.q_scale() == theirs.q_scale() and ours.q_zero_point() == \
                theirs.q_zero_point(), (x, size)
            assert ours.int_repr().tolist() == theirs.int_repr().tolist()


def channels(axis, zero=None):
    sizes = (2, 3, 4)
    zeros = fl.arange(sizes[axis]) if zero is None else zero
    return fl.quantize_per_channel(fl.randn(*sizes), fl.arange(1, sizes[axis] + 1) * 0.25,
                                   zeros, axis, fl.qint8)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("move", [
    lambda x: x[1], lambda x: x[-1:], lambda x: x[:, 1], lambda x: x[..., 1], lambda x: x[None, 1],
    lambda x: x[:, None, 1:], lambda x: x[..., 0:2], lambda x: x.unsqueeze(1), lambda x: x[0, 1],
    lambda x: x.unsqueeze(-1), lambda x: x.unsqueeze(0).squeeze(0), lambda x: x.select(1, 2),
    lambda x: x.narrow(2, 1, 2), lambda x: x[1, 2, 3]])
def test_channels_stay_whole(axis, move):
    q = channels(axis)
    assert move(q).dequantize().tolist() == move(q.dequantize()).tolist()


def test_channels_are_not_squeezed_away():
    q = channels(0)[1:]
    assert channels(1)[1:].squeeze().q_per_channel_axis() == 0
    with pytest.raises(RuntimeError, match="Squeeze is only possible on non-axis dimension"):
        q.squeeze()


def test_a_channel_whose_zero_is_no_integer_is_refused():
    q = channels(0, fl.tensor([0.25, 0.5]))
    assert q[0:1].dequantize().tolist() == q.dequantize()[0:1].tolist()
    with pytest.raises(NotImplementedError, match="quantized by channel"):
        q[0]        # one scale has an integer for its zero


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("index", [0, slice(1, None), (0, 1), (slice(None), 0), (..., 1)])
def test_assigning_to_channels(axis, index):
    q, new = channels(axis), fl.randn(2, 3, 4)
    wanted = q.dequantize()
    wanted[index] = fl.quantize_per_channel(
        new, q.q_per_channel_scales(), q.q_per_channel_zero_points(), axis,
        fl.qint8).dequantize()[index]
    q[index] = new[index]
    assert q.dequantize().tolist() == wanted.tolist()
    q.fill_(0.5)
    assert q.dequantize().tolist() == fl.quantize_per_channel(
        fl.full((2, 3, 4), 0.5), q.q_per_channel_scales(), q.q_per_channel_zero_points(), axis,
        fl.qint8).dequantize().tolist()


def test_index_put():
    q = fl.quantize_per_tensor(fl.zeros(4, 4), 0.5, 3, fl.quint8)
    indices = (fl.tensor([0, 2]), fl.tensor([1, 3]))
    put = q.index_put(indices, fl.tensor([1.3, 900.0]))
    assert put[0, 1].item() == 1.5 and put[2, 3].item() == (255 - 3) * 0.5
    q[indices] = fl.tensor(2.0)
    assert q.dequantize().sum().item() == 4.0
    with pytest.raises(NotImplementedError, match="accumulate"):
        q.index_put(indices, fl.tensor(1.0), accumulate=True)


@pytest.mark.parametrize("call", [
    lambda x: fl.nn.functional.hardtanh(x, 0.2, 1.0, inplace=True),
    lambda x: fl.nn.functional.hardtanh(x, 0.2, 1.0, True),
    lambda x: fl.nn.functional.relu6(x, inplace=True),
    lambda x: fl.nn.functional.leaky_relu(x, 0.1, inplace=True),
    lambda x: fl.nn.functional.relu(x, inplace=True),
    lambda x: fl.nn.functional.hardsigmoid(x, inplace=True)])
def test_what_is_asked_for_in_place(call):
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    q = fl.quantize_per_tensor(fl.linspace(-9, 9, 19), 0.1, 100, fl.quint8)
    before, view = q.dequantize(), q[3:]
    made = call(q)
    assert made is q and not q.dequantize().equal(before)
    assert view.int_repr().equal(q.int_repr()[3:])


def test_another_shape():
    x = fl.arange(6.)
    q = fl.quantize_per_tensor(x, 0.5, 1, fl.quint8)
    assert q.resize(2, 3).int_repr().tolist() == [[1, 3, 5], [7, 9, 11]]
    assert x.resize_as(fl.ones(2, 3)).shape == (2, 3)
    q.resize_(2, 2)
    assert q.dequantize().tolist() == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match="6 elements"):
        x.resize(2, 2)
    with pytest.raises(RuntimeError, match="no tensor of"):
        fl.empty_like(q, dtype=fl.float32)
    rows = fl.quantize_per_channel(x.reshape(2, 3), fl.ones(2), fl.zeros(2), 0, fl.quint8)
    with pytest.raises(RuntimeError, match="scales of channels"):
        rows.resize_(3, 2)
