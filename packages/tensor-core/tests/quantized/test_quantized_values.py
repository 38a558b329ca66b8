"""Numbers to integers and back, sums and products of them: bit for bit by their formulas."""
from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

F32 = np.float32
DTYPES = [(np.uint8, 0), (np.int8, -128)]


def steps(numbers, scale, zero, low):
    value = np.rint(numbers * F32(1 / np.float64(F32(scale)))) + F32(zero)
    return np.clip(np.where(np.isnan(value), low + 255, value), low, low + 255)


def layouts(a):
    """The same elements in memory of several orders."""
    t = flambeau.from_numpy(np.ascontiguousarray(a))
    yield t
    yield t.transpose(0, -1).contiguous().transpose(0, -1)
    yield flambeau.from_numpy(np.repeat(a, 2, -1))[..., ::2]
    yield t[:1].expand_as(t) if (a == a[:1]).all() else t.flip(0).flip(0)


def numbers(rng, *shape):
    x = (rng.standard_normal(shape) * 20).astype(F32)
    x.flat[:7] = [0.25, -0.25, 0.75, np.nan, np.inf, -np.inf, 3e38]
    return x


@pytest.mark.parametrize("dtype,low", DTYPES)
@pytest.mark.parametrize("scale", [0.5, 0.1, 1e-30, 7.0])
@pytest.mark.parametrize("end", [0, 100, 255])
def test_quantize(dtype, low, scale, end):
    x = numbers(np.random.default_rng(1), 7, 5, 9)
    kind = flambeau.int8 if low else flambeau.uint8
    with np.errstate(all="ignore"):
        wanted = steps(x, scale, low + end, low)
    for each in layouts(x):
        got = ops.quantize_values(each, scale, low + end, kind)
        assert got.dtype is kind
        np.testing.assert_array_equal(got.numpy(), wanted)


@pytest.mark.parametrize("dtype,low", DTYPES)
def test_dequantize(dtype, low):
    q = np.arange(low, low + 256).astype(dtype).reshape(8, 4, 8)
    for zero in (low, low + 99, low + 255):
        wanted = (q.astype(F32) - F32(zero)) * F32(0.1)
        for each in layouts(q):
            np.testing.assert_array_equal(ops.dequantize_values(each, 0.1, zero).numpy(), wanted)


@pytest.mark.parametrize("dtype,low", DTYPES)
@pytest.mark.parametrize("kind", ["add", "add_relu", "mul"])
def test_pairs(dtype, low, kind):
    rng = np.random.default_rng(2)
    a, b = (rng.integers(low, low + 256, (6, 300, 4)).astype(dtype) for _ in range(2))
    scales, zeros = (0.1, 0.07, 0.13), (low + 3, low + 255, low + 90)
    x, y = ((v.astype(F32) - F32(z)) * F32(s)
            for v, z, s in zip((a, b), zeros[:2], scales[:2], strict=True))
    total = x * y if kind == "mul" else x + y
    wanted = steps(np.maximum(total, 0) if kind == "add_relu" else total, scales[2], zeros[2], low)
    for left in layouts(a):
        for right in layouts(b):
            got = ops.quantized_mul(left, right, scales, zeros) if kind == "mul" else \
                ops.quantized_add(left, right, scales, zeros, kind == "add_relu")
            np.testing.assert_array_equal(got.numpy(), wanted)


def test_no_elements_and_one():
    for shape in ((0, 3), ()):
        q = flambeau.full(shape, 9, dtype=flambeau.uint8)
        assert ops.dequantize_values(q, 0.5, 1).tolist() == ([] if shape else 4.0)
        assert ops.quantized_add(q, q, (1, 1, 1), (0, 0, 0), False).shape == shape
        assert ops.quantize_values(q.float(), 0.5, 0, flambeau.uint8).shape == shape


@pytest.mark.parametrize("call,error", [
    (lambda q: ops.quantize_values(q, 1.0, 0, flambeau.uint8), "expected float32, got uint8"),
    (lambda q: ops.quantize_values(q.float(), 1.0, 0, flambeau.int16), "uint8 or int8, got int16"),
    (lambda q: ops.quantize_values(q.float(), 1.0, -1, flambeau.uint8), "zero_point is -1"),
    (lambda q: ops.dequantize_values(q.long(), 1.0, 0), "expected uint8 or int8, got int64"),
    (lambda q: ops.quantized_add(q, q.to(flambeau.int8), (1, 1, 1), (0, 0, 0), False), "dtype"),
    (lambda q: ops.quantized_add(q, q[:1], (1, 1, 1), (0, 0, 0), False), "shape"),
    (lambda q: ops.quantized_mul(q, q, (1, 1), (0, 0, 0)), "must have three numbers"),
    (lambda q: ops.quantized_mul(q, q, (1, 1, 1), (0, 0, 256)), "zero_point is 256"),
])
def test_what_does_not_fit_is_refused(call, error):
    with pytest.raises((RuntimeError, TypeError, ValueError), match=error):
        call(flambeau.zeros(3, dtype=flambeau.uint8))


@pytest.mark.parametrize("seed", range(60))
def test_maxima_of_bytes(seed):
    """Channels side by side have loops of their own."""
    rng = np.random.default_rng(seed)
    channels = int(rng.choice([1, 3, 16, 64, 65, 130]))
    kernel, stride = ([int(v) for v in rng.integers(1, 5, 2)] for _ in range(2))
    padding = [int(rng.integers(0, k // 2 + 1)) for k in kernel]
    dilation, ceil = int(rng.integers(1, 3)), bool(rng.integers(0, 2))
    sizes = [int(v) for v in rng.integers(9, 14, 2)]
    low = -128 if seed % 2 else 0
    x = rng.integers(low, low + 256, (2, channels, *sizes)).astype(np.int8 if low else np.uint8)
    last = flambeau.from_numpy(x).contiguous(memory_format=flambeau.channels_last)
    window = kernel, stride, padding, dilation, ceil
    for each in (last, flambeau.from_numpy(x), last[1:, :, 1:, 2:]):
        got = flambeau.max_pool2d(each, *window)
        assert got.dtype is each.dtype
        assert flambeau.equal(got.double(), flambeau.max_pool2d(each.double(), *window))
