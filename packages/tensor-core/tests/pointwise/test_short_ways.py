"""Operands that allow a shorter way (contiguous, narrow, even, expanded) get the same results."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

RANDOM = np.random.default_rng(0)
NARROW = ["uint8", "int8", "int16", "int32"]
BINARY = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "maximum": np.maximum, "minimum": np.minimum, "bitwise_and": operator.and_,
    "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "eq": operator.eq,
    "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge,
}


def _integers(dtype, count=1000):
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max, count, dtype, endpoint=True)


def _same(result, expected):
    got = result.numpy()
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", BINARY)
def test_narrow_integers(name, dtype):
    a, b = _integers(dtype), _integers(dtype)
    b[::7] = a[::7]
    function, numpy = getattr(flambeau, name), BINARY[name]
    x, y = flambeau.tensor(a), flambeau.tensor(b)
    _same(function(x, y), numpy(a, b))
    _same(function(x.view(10, 100), y.view(10, 100)[:1]), numpy(a.reshape(10, 100), b[:100]))
    apart = flambeau.stack([y, y], -1)[:, 0]
    _same(function(x, apart), numpy(a, b))
    if name not in ("maximum", "minimum"):  # which take tensors only
        _same(function(x, 5), numpy(a, np.array(5, dtype)))
        _same(function(x, True), numpy(a, np.array(1, dtype)))


def test_narrow_integers_and_numbers_that_do_not_fit():
    x = flambeau.tensor(_integers("int8"))
    assert (x < 300).all()
    _same(x + 300, (x.numpy().astype(np.int64) + 300).astype(np.int8))
    _same(5 - x, (5 - x.numpy().astype(np.int64)).astype(np.int8))
    _same(flambeau.add(x, x, alpha=3), x.numpy() * np.int8(4))
    assert (x + 0.5).dtype is flambeau.float32


def test_narrow_integers_in_place_and_out():
    a, b = _integers("int16"), _integers("int16")
    x = flambeau.tensor(a)
    x += flambeau.tensor(b)
    _same(x, a + b)
    out = flambeau.empty(1000, dtype=flambeau.int64)
    flambeau.mul(flambeau.tensor(a), flambeau.tensor(b), out=out)
    np.testing.assert_array_equal(out.numpy().astype(np.int16), a * b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [5, 5000])
def test_squares_and_cubes_are_products(dtype, count):
    a = RANDOM.standard_normal(count).astype(dtype)
    a[:3] = -0.0, np.inf, np.nan
    x = flambeau.tensor(a)
    apart = flambeau.stack([x, x], -1)[:, 0]
    for tensor in (x, apart):
        _same(tensor ** 2, a * a)
        _same(tensor ** 3.0, a * a * a)
    _same(2 ** flambeau.zeros(count), np.ones(count, np.float32))


def test_every_half_becomes_its_float():
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    _same(flambeau.tensor(halves).float(), halves.astype(np.float32))


def test_floats_round_to_half():
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    between = (halves[:-1] + halves[1:]) / 2
    special = np.float32([65519.996, 65520, 1e30, np.inf, -np.inf, np.nan, 2.9802322e-8, 1e-30])
    x = np.concatenate([between, np.nextafter(between, 1e9), np.nextafter(between, -1), special])
    x = np.concatenate([x, -x]).astype(np.float32)
    with np.errstate(over="ignore"):
        _same(flambeau.tensor(x).half(), x.astype(np.float16))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("value", [0, 1, -0.0, 2.5, np.nan])
def test_fill(dtype, value):
    if dtype in ("bool", "int8") and value != value:
        value = 2.0                     # they have no NaN
    for shape in ((70, 80), (3,)):
        expected = np.full(shape, value).astype(dtype)
        whole = flambeau.empty(shape, dtype=getattr(flambeau, dtype)).fill_(value)
        turned = flambeau.empty(shape[::-1], dtype=getattr(flambeau, dtype)).T.fill_(value)
        for got in (whole.numpy(), turned.numpy()):
            np.testing.assert_array_equal(got, expected)
            np.testing.assert_array_equal(np.signbit(got.real), np.signbit(expected.real))


def _running_best(row, least):
    """Values and positions as a loop finds them: later equals win, NaN wins forever."""
    values, positions, best = [], [], 0
    for i, v in enumerate(row):
        held = row[best]
        follows = (v <= held if least else v >= held) if held == held else v != v
        best = i if follows or v != v else best
        values.append(row[best])
        positions.append(best)
    return values, positions


@pytest.mark.parametrize("count", [31, 32, 33, 64, 300])
@pytest.mark.parametrize("least", [False, True])
def test_running_extremes(count, least):
    kinds = [RANDOM.standard_normal(count), np.arange(count), -np.arange(count),
             RANDOM.integers(0, 3, count), np.where(np.arange(count) == 40, np.nan, 1)]
    rows = np.array(kinds, np.float32)
    values, positions = (flambeau.cummin if least else flambeau.cummax)(flambeau.tensor(rows), 1)
    expected = [_running_best(row, least) for row in rows]
    np.testing.assert_array_equal(values.numpy(), np.array([v for v, _ in expected], np.float32))
    np.testing.assert_array_equal(positions.numpy(), [p for _, p in expected])


@pytest.mark.parametrize("dtype", ["float32", "int64", "int16"])
@pytest.mark.parametrize("shape, dim", [((30, 9), 0), ((4, 30, 9), 1), ((4, 5, 30), 2)])
def test_scatter_add_of_blocks(shape, dim, dtype):
    chosen = [size if d != dim else 50 for d, size in enumerate(shape)]
    self = RANDOM.integers(-9, 9, shape).astype(dtype)
    src = RANDOM.integers(-9, 9, chosen).astype(dtype)
    line = RANDOM.integers(0, 30, 50)
    expanded = [50 if d == dim else 1 for d in range(len(shape))]
    index = flambeau.tensor(line).view(*expanded).expand(*chosen)
    result = flambeau.tensor(self).scatter_add(dim, index, flambeau.tensor(src))
    expected = np.moveaxis(self.copy(), dim, 0)
    np.add.at(expected, line, np.moveaxis(src, dim, 0))
    _same(result, np.moveaxis(expected, 0, dim))
    with pytest.raises(RuntimeError, match="index"):
        flambeau.tensor(self).scatter_add(dim, index + 30, flambeau.tensor(src))


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (4, 1), (8, 24)])
def test_adaptive_pools_of_even_windows(size):
    image = RANDOM.standard_normal((2, 3, 8, 24)).astype(np.float32)
    windows = image.reshape(2, 3, size[0], 8 // size[0], size[1], 24 // size[1])
    x = flambeau.tensor(image)
    mean = ops.adaptive_avg_pool2d(x, size).numpy()
    np.testing.assert_allclose(mean, windows.mean((3, 5)), rtol=1e-5, atol=1e-6)
    _same(ops.adaptive_max_pool2d(x, size), windows.max((3, 5)))
    values, positions = ops.adaptive_max_pool2d(x, size, True)
    _same(x.flatten(2).gather(2, positions.flatten(2)).view(*values.shape), windows.max((3, 5)))
    lines, one = x[0], windows[0].max((2, 4)) if size[0] == 1 else None
    if one is not None:
        _same(ops.adaptive_max_pool1d(lines.flatten(1), 1)[..., None], one[:, :1, :1])
    means = ops.adaptive_avg_pool1d(x[0, 0], size[1]).numpy()
    np.testing.assert_allclose(means, image[0, 0].reshape(8, size[1], -1).mean(-1), rtol=1e-5,
                               atol=1e-6)


@pytest.mark.parametrize("kernel, length", [(4, 16), (5, 18), (7, 7)])
def test_means_of_wide_windows(kernel, length):
    image = RANDOM.standard_normal((2, length, length))
    count = length // kernel
    part = image[:, :count * kernel, :count * kernel]
    expected = part.reshape(2, count, kernel, count, kernel).mean((2, 4))
    np.testing.assert_allclose(ops.avg_pool2d(flambeau.tensor(image), kernel).numpy(), expected)


def _conv3d(x, w, stride, padding, dilation):
    """The definition, window by window."""
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3, 4))
    windows = windows[:, :, ::stride[0], ::stride[1], ::stride[2], ::dilation[0], ::dilation[1],
                      ::dilation[2]]
    return np.einsum("ncdhwxyz,ocxyz->nodhw", windows, w)


@pytest.mark.parametrize("kernel", [(3, 3, 3), (1, 3, 3), (3, 1, 1), (1, 1, 1), (2, 3, 1)])
@pytest.mark.parametrize("stride, padding, dilation", [
    ((1, 1, 1), (0, 0, 0), (1, 1, 1)), ((1, 1, 1), (1, 1, 1), (1, 1, 1)),
    ((2, 1, 2), (1, 0, 2), (1, 2, 1)), ((1, 2, 1), (2, 1, 0), (2, 1, 1))])
@pytest.mark.parametrize("outputs", [3, 20])
def test_conv3d(kernel, stride, padding, dilation, outputs):
    x = RANDOM.standard_normal((3, 4, 6, 8, 9))
    w = RANDOM.standard_normal((outputs, 4, *kernel))
    expected = _conv3d(x, w, stride, padding, dilation)
    inputs = flambeau.tensor(x), flambeau.tensor(w)
    result = ops.conv3d(*inputs, None, stride, padding, dilation)
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)
    grouped = ops.conv3d(flambeau.cat([inputs[0]] * 2, 1), flambeau.cat([inputs[1]] * 2), None,
                         stride, padding, dilation, 2)
    np.testing.assert_allclose(grouped.numpy(), np.concatenate([expected] * 2, 1), atol=1e-12)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_positions_outside_read_nothing(mode):
    image = np.full((1, 2, 5, 6), np.nan, np.float32)
    far = flambeau.full((1, 70, 1, 2), 9.0)
    _same(flambeau.grid_sampler_2d(flambeau.tensor(image), far, mode, 0, False),
          np.zeros((1, 2, 70, 1), np.float32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "bool"])
@pytest.mark.parametrize("dims", [0, (0, 2), 1, (1, 2)])
def test_sums_of_converted_columns(dtype, dims):
    few = RANDOM.random((40, 30, 20)) < 0.2      # sums that bfloat16 can hold
    x = flambeau.tensor(few).to(getattr(flambeau, dtype))
    expected = x.float().numpy().sum(dims)
    np.testing.assert_array_equal(x.sum(dims).float().numpy(), expected)
    turned = x.permute(2, 1, 0)
    np.testing.assert_array_equal(turned.sum(0).float().numpy(), x.float().numpy().sum(2).T)


@pytest.mark.parametrize("dims", [0, (0, 2), 1])
def test_prepared_columns(dims):
    x = RANDOM.standard_normal((40, 30, 20))
    np.testing.assert_allclose(flambeau.tensor(x).norm(dim=dims).numpy(),
                               np.sqrt((x * x).sum(dims)))
    x[::3] = np.nan
    np.testing.assert_allclose(flambeau.tensor(x).nansum(dims).numpy(), np.nansum(x, dims))
    np.testing.assert_allclose(flambeau.tensor(x).permute(2, 0, 1).nansum(1).numpy(),
                               np.nansum(x, 0).T)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("inner", [1, 2, 4, 3, 700])
def test_joins_of_small_blocks(dtype, inner):
    parts = [RANDOM.integers(0, 99, (5000 // inner, inner)).astype(dtype) for _ in range(3)]
    tensors = [flambeau.tensor(part) for part in parts]
    _same(flambeau.cat(tensors, 1), np.concatenate(parts, 1))
    _same(flambeau.stack(tensors, -1), np.stack(parts, -1))


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "complex64"])
def test_every_second_element_and_long_rows(dtype):
    a = RANDOM.integers(-99, 99, (4, 70000)).astype(dtype)
    x = flambeau.tensor(a)
    _same(x[:, ::2] + x[:, 1::2], a[:, ::2] + a[:, 1::2])
    _same(x * x[:, :1], a * a[:, :1])
    _same(x[:, 1:] + x[:1, :-1], a[:, 1:] + a[:1, :-1])
    _same(x[1:, 1:] * 2, a[1:, 1:] * np.array(2, dtype))


def test_one_window_for_a_whole_image():
    grad, weight = RANDOM.standard_normal((5, 6, 1, 1)), RANDOM.standard_normal((6, 3, 4, 2))
    result = ops.conv_transpose2d(flambeau.tensor(grad), flambeau.tensor(weight))
    np.testing.assert_allclose(result.numpy(), np.tensordot(grad[..., 0, 0], weight, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
def test_maxima_without_positions(dtype):
    image = RANDOM.integers(-9, 9, (2, 3, 19, 40)).astype(dtype)
    if dtype.startswith("float"):
        image[0, 0, 3, 5], image[1, 0] = np.nan, -np.inf
    x = flambeau.tensor(image)
    for arguments in ((2,), (3, 2, 1), ((4, 3), (1, 3), (2, 0), (1, 2)), (3, 1, 1, 1, True)):
        values, _ = ops.max_pool2d(x, *arguments, return_indices=True)
        _same(ops.max_pool2d(x, *arguments), values.numpy())
    values, _ = ops.max_pool1d(x[0], 5, 3, 2, return_indices=True)
    _same(ops.max_pool1d(x[0], 5, 3, 2), values.numpy())


def test_zeros_of_any_size():
    for count in (1, 100, 10 ** 6):
        assert not ops.full_of([count], 0.0).numpy().any()
        assert np.signbit(ops.full_of([count], -0.0).numpy()).all()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 7, 8, 9, 100_003])
def test_positions_in_a_sparse_mask(count, share):
    mask = RANDOM.random(count) < share
    mask[-1] = True
    _same(flambeau.tensor(mask).nonzero()[:, 0], np.flatnonzero(mask))
