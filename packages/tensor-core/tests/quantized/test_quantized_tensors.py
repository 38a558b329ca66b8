"""Quantized tensors: their numbers, what moves them, and what is refused."""
from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import flambeau as fl

X = [[-1.0, 0.3, 1.0], [2.0, 5.0, 30.0]]


@pytest.fixture
def q():
    return fl.quantize_per_tensor(fl.tensor(X), 0.1, 10, fl.quint8)


@pytest.fixture
def c():
    return fl.quantize_per_channel(fl.tensor(X), fl.tensor([0.1, 0.2]), fl.tensor([1, 2]), 0,
                                   fl.qint8)


def test_integers_numbers_and_facts(q):
    assert q.int_repr().tolist() == [[0, 13, 20], [30, 60, 255]]
    expected = np.float32(0.1) * (np.array([[0, 13, 20], [30, 60, 255]], np.float32) - 10)
    assert np.array_equal(q.dequantize().numpy(), expected)
    assert (q.q_scale(), q.q_zero_point(), q.qscheme()) == (0.1, 10, fl.per_tensor_affine)
    assert q.dtype is fl.quint8 and q.is_quantized and q.element_size() == 1
    assert not fl.ones(1).is_quantized and q.shape == (2, 3) and not q.requires_grad


def test_halves_go_to_the_even_neighbour_and_nan_to_the_greatest():
    x = fl.tensor([0.5, 1.5, 2.5, -0.5, float("nan"), float("inf"), -float("inf")])
    got = fl.quantize_per_tensor(x, 1.0, 0, fl.qint8).int_repr().tolist()
    assert got == [0, 2, 2, 0, 127, 127, -128]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (4, 5), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [fl.qint8, fl.quint8, fl.qint32])
def test_shapes_and_strides(shape, dtype):
    x = fl.randn(*shape) if shape else fl.tensor(1.25)
    for view in (x, x.t() if x.ndim == 2 else x, x.expand(2, *shape), x.flip(0) if shape else x):
        got = fl.quantize_per_tensor(view, 0.05, 3, dtype)
        low, high = {"qint8": (-128, 127), "quint8": (0, 255)}.get(
            dtype.name, (-(2**31), 2**31 - 1))
        steps = view.numpy() * (np.float32(1) / np.float32(0.05))
        expected = np.clip(np.round(steps.astype(np.float64)) + 3, low, high)
        assert np.array_equal(got.int_repr().numpy(), expected)
        assert got.shape == view.shape and got.dequantize().dtype is fl.float32


def test_channels(c):
    assert c.int_repr().tolist() == [[-9, 4, 11], [12, 27, 127]]
    assert c.q_per_channel_axis() == 0 and c.q_per_channel_zero_points().tolist() == [1, 2]
    assert c[0].q_scale() == pytest.approx(0.1) and c[1].q_zero_point() == 2
    assert c[0:1].q_per_channel_scales().tolist() == pytest.approx([0.1])
    for mixes in (lambda: c.t(), lambda: c.reshape(-1), lambda: c[fl.tensor([0])],
                  lambda: c.relu()):
        with pytest.raises(NotImplementedError, match="quantized by channel"):
            mixes()
    with pytest.raises(RuntimeError, match="q_per_channel_scales"):
        c.q_scale()


def test_what_moves_elements_keeps_scales(q):
    for move in (lambda x: x.t(), lambda x: x[1], lambda x: x[:, 1:], lambda x: x.reshape(-1),
                 lambda x: x.unsqueeze(0), lambda x: fl.cat([x, x], 1), lambda x: x.expand(4, 2, 3),
                 lambda x: x.clone(), lambda x: x[fl.tensor([1, 0])], lambda x: fl.stack([x, x])):
        moved = move(q)
        assert moved.q_scale() == 0.1 and moved.q_zero_point() == 10
        assert moved.int_repr().tolist() == move(q.int_repr()).tolist()
        assert moved.shape == tuple(moved.int_repr().shape)
    assert [part.shape for part in q.chunk(2)] == [(1, 3), (1, 3)]
    assert q.max().item() == q.dequantize().max().item()
    values, indices = q.sort(descending=True)
    assert values.is_quantized and indices.tolist() == [[2, 1, 0], [2, 1, 0]]


def test_views_share_memory_and_writes_are_seen(q):
    view = q.t()[1]
    view[0] = 9.9
    assert q[0, 1].item() == pytest.approx(9.9)
    q.relu_()
    assert q.int_repr().min().item() == 10 and view.int_repr().tolist() == [109, 60]
    q.fill_(0.55)
    assert set(q.int_repr().flatten().tolist()) == {16}
    q.copy_(fl.tensor(X))
    assert q.int_repr().tolist() == [[0, 13, 20], [30, 60, 255]]


def test_averages_round_once(q):
    x = fl.quantize_per_tensor(fl.arange(16.0).reshape(1, 1, 4, 4), 1.0, 3, fl.quint8)
    got = fl.ops.aten.avg_pool2d(x, 2)
    assert got.int_repr().flatten().tolist() == [6, 8, 14, 16]      # of 5.5, 7.5, 13.5, 15.5
    assert fl.ops.aten.max_pool2d(x, 2).int_repr().flatten().tolist() == [8, 10, 16, 18]
    assert q.mean().q_scale() == 0.1


def test_ranges_that_are_known(q):
    assert q.sigmoid().q_scale() == 1 / 256 and q.tanh().q_zero_point() == 128
    signed = fl.quantize_per_tensor(fl.tensor(X), 0.1, 0, fl.qint8)
    assert (signed.sigmoid().q_zero_point(), signed.tanh().q_zero_point()) == (-128, 0)
    assert (signed.sigmoid().dequantize() - signed.dequantize().sigmoid()).abs().max() < 1 / 256


@pytest.mark.parametrize("call", [
    lambda q: q + q, lambda q: q * 2, lambda q: q.sum(), lambda q: fl.exp(q), lambda q: q @ q.t(),
    lambda q: q.float(), lambda q: q.int(), lambda q: q.add_(1)])
def test_other_arithmetic_is_refused(q, call):
    before = q.int_repr().tolist()
    with pytest.raises(NotImplementedError, match="scale of its result is not known"):
        call(q)
    assert q.int_repr().tolist() == before


def test_errors_say_what_to_write(q):
    with pytest.raises(RuntimeError, match=r"write x\.float\(\)"):
        fl.quantize_per_tensor(fl.ones(2, dtype=fl.float16), 0.1, 0, fl.qint8)
    with pytest.raises(RuntimeError, match="zero_point 300 is above upper bound 255"):
        fl.quantize_per_tensor(fl.ones(2), 0.1, 300, fl.quint8)
    with pytest.raises(RuntimeError, match="length of scales"):
        fl.quantize_per_channel(fl.ones(2, 3), fl.ones(3), fl.zeros(3).long(), 0, fl.qint8)
    with pytest.raises(RuntimeError, match="axis 2"):
        fl.quantize_per_channel(fl.ones(2, 3), fl.ones(3), fl.zeros(3).long(), 2, fl.qint8)
    with pytest.raises(RuntimeError, match="dtype of quantized tensors"):
        fl.zeros(2, dtype=fl.qint8)
    with pytest.raises(RuntimeError, match="dtype of quantized tensors"):
        fl.ones(2).to(fl.quint8)
    with pytest.raises(RuntimeError, match="expected a quantized tensor"):
        fl.ones(2).q_scale()
    with pytest.raises(RuntimeError, match="is not converted"):
        q.to(fl.float32)
    with pytest.raises(RuntimeError, match="no gradients"):
        q.requires_grad_()


def test_dtypes_of_quantized_tensors_are_dtypes():
    assert isinstance(fl.qint8, fl.dtype) and fl.qint32.itemsize == 4
    assert repr(fl.quint8) == "flambeau.quint8" and pickle.loads(pickle.dumps(fl.qint8)) is fl.qint8
    assert not fl.qint8.is_floating_point and not fl.qint8.is_complex
    assert fl.qint8.is_signed and not fl.quint8.is_signed
    assert fl.quint8 not in (fl.uint8, fl.int8) and len({fl.qint8, fl.quint8, fl.int8}) == 3


def test_dynamic_scales_hold_zero():
    for numbers in ([1.0, 3.0], [-3.0, -1.0], [-1.0, 2.0], [0.0, 0.0], []):
        for reduce_range in (False, True):
            x = fl.tensor(numbers)
            got = fl.quantize_per_tensor_dynamic(x, fl.quint8, reduce_range)
            assert (got.dequantize() - x).abs().sum() <= got.q_scale() * max(1, len(numbers))
            greatest = got.int_repr().max().item() if numbers else 0
            assert greatest <= (127 if reduce_range else 255)


@pytest.mark.parametrize("form", ["flambeau", "torch"])
def test_files_keep_integers_scales_and_shared_memory(q, c, form):
    file = io.BytesIO()
    fl.save({"q": q, "row": q[1], "c": c, "dtype": fl.qint32}, file,
            **({"format": "torch"} if form == "torch" else {}))
    file.seek(0)
    got = fl.load(file)
    assert fl.equal(got["q"], q) and fl.equal(got["c"], c) and got["dtype"] is fl.qint32
    got["row"][0] = 0.0
    assert got["q"][1, 0].item() == 0.0


def test_copies(q, c):
    for x in (q, c):
        for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            assert fl.equal(made, x) and made.int_repr().tolist() == x.int_repr().tolist()
    other = copy.deepcopy(q)
    other[0, 0] = 5.0
    assert q[0, 0].item() == -1.0


def test_damaged_files_are_refused(q):
    from flambeau.core.io.errors import FileError
    from flambeau.core.io.sparse_parts import facts_of, joined

    facts, integers = facts_of(q), q.int_repr()
    for wrong, parts in (
            (["quantized", "quint8"], [integers]), ([*facts[:3], "x", 0], [integers]),
            ([*facts[:1], "float32", *facts[2:]], [integers]), (facts, [integers.int()]),
            (facts, []), (facts, [1]), (["quantized", "quint8", 5, None, None], [integers] * 3),
            (["quantized", "quint8", 0, None, None], [integers, fl.ones(1), fl.ones(1)])):
        with pytest.raises(FileError, match="damaged"):
            joined(wrong, parts)


def test_floats_and_integers_do_not_mix_silently(q):
    zeros = fl.zeros(2, 3)
    with pytest.raises(RuntimeError, match="copying from a quantized tensor"):
        zeros.copy_(q)
    with pytest.raises(RuntimeError, match="copying from a quantized tensor"):
        zeros[0] = q[0]
    for a, b in ((zeros, q), (q, zeros)):
        with pytest.raises(TypeError, match="must be quantized"):
            fl.where(q > 1, a, b)
    with pytest.raises(RuntimeError, match="dtype of quantized tensors"):
        fl.promote_types(fl.qint8, fl.float32)
    with pytest.raises(RuntimeError, match="dtype of quantized tensors"):
        fl.can_cast(fl.float32, fl.quint8)
    assert zeros.abs().sum().item() == 0
    assert fl.equal(fl.where(q > 1, q, q), q)


def test_transposed_attributes(q):
    assert q.T.int_repr().tolist() == q.mT.int_repr().tolist() == q.int_repr().t().tolist()


@pytest.mark.parametrize("scale, expected", [(1e300, 0), (1e-300, 127), (float("inf"), 0)])
def test_scales_beyond_float32(scale, expected):
    got = fl.quantize_per_tensor(fl.ones(2), scale, 0, fl.qint8)
    assert got.int_repr().tolist() == [expected] * 2
