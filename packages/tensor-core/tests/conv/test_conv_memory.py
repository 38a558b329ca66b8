"""What convolutions and their gradients take beside their results, and what maxima keep."""

import numpy as np
import pytest

import flambeau
from flambeau.core import memory_stats, ops, reset_peak_memory_stats


def beside(call):
    """Bytes that a call takes at most, beyond what it returns; and the result."""
    call()
    before = memory_stats()["live_bytes"]
    reset_peak_memory_stats()
    result = call()
    peak = memory_stats()["peak_live_bytes"]
    return peak - before - result.numel() * 4, result


@pytest.fixture
def threads():
    before = flambeau.get_num_threads()
    yield flambeau.set_num_threads
    flambeau.set_num_threads(before)


def operands(channels, size):
    flambeau.manual_seed(0)
    x = flambeau.randn(8, channels, size, size)
    return x, flambeau.randn(8, channels, size, size), (channels, channels, 3, 3)


@pytest.mark.parametrize(("channels", "size"), [(64, 16), (128, 8), (256, 4)])
def test_the_weight_gradient_needs_no_partial_sums_on_few_threads(threads, channels, size):
    threads(2)
    x, g, shape = operands(channels, size)
    extra, _ = beside(lambda: ops.conv2d_weight_grad(g, x, shape, 1, 1))
    assert extra < 1e6


@pytest.mark.parametrize(("channels", "size"), [(64, 32), (128, 16)])
def test_strips_are_gathered_a_few_at_once(threads, channels, size):
    threads(2)
    x, _, shape = operands(channels, size)
    weight = flambeau.randn(*shape)
    extra, _ = beside(lambda: ops.conv2d(x, weight, None, 1, 1))
    assert extra < 4e6


@pytest.mark.parametrize("channels", [16, 64, 144])
def test_the_number_of_threads_changes_no_bit(threads, channels):
    x, g, shape = operands(channels, 9)
    weight = flambeau.randn(*shape)
    results = []
    for count in (1, 2, 16):
        threads(count)
        results.append(
            [
                ops.conv2d_weight_grad(g, x, shape, 1, 1).numpy(),
                ops.conv2d(x, weight, None, 1, 1).numpy(),
            ]
        )
    for other in results[1:]:
        for mine, theirs in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def summed(x, weight, stride):
    """A convolution of windows of 3 x 3 with one element of padding."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("nchwyx,ocyx->nohw", windows[:, :, ::stride, ::stride], weight, optimize=True)


@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize("channels", [(64, 128, 12), (256, 90, 5), (70, 256, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_images_have_the_same_bits_however_they_are_cut(threads, images, channels, dtype):
    c, o, size = channels
    rng = np.random.default_rng(c)
    x = flambeau.tensor(rng.standard_normal((images, c, size, size)).astype(dtype))
    weight = flambeau.tensor(rng.standard_normal((o, c, 3, 3)).astype(dtype))
    turned = weight.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    for stride in (1, 2):
        found = []
        for count in (1, 2, 3, 16):
            threads(count)
            found.append(ops.conv2d(x, weight, None, stride, 1).numpy())
        found.append(ops.conv2d(x, turned, None, stride, 1).numpy())
        found.append(found[0].copy())
        for i in range(0, o - 15, 13):          # 16 channels at least, as Winograd's tiles want
            found[-1][:, i : i + 16] = ops.conv2d(x, weight[i : i + 16], None, stride, 1).numpy()
        expected = summed(x.numpy(), weight.numpy(), stride)
        np.testing.assert_allclose(found[0], expected, rtol=1e-3, atol=1e-3)
        for other in found[1:]:
            np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize(
    ("side", "dtype"), [(16, "uint8"), (17, "uint16"), (256, "uint16"), (257, "int64")]
)
def test_positions_of_maxima_take_the_smallest_dtype(side, dtype):
    x = flambeau.randn(1, 2, side, side)
    values, positions = ops.max_pool2d_compact_indices(x, 3, 2, 1)
    expected, indices = ops.max_pool2d_with_indices(x, 3, 2, 1)
    assert str(positions.dtype).endswith(dtype)
    np.testing.assert_array_equal(values.numpy(), expected.numpy())
    np.testing.assert_array_equal(positions.numpy(), indices.numpy())
    grad = flambeau.randn_like(values)
    found = ops.max_pool2d_grad(grad, positions, x.shape)
    np.testing.assert_array_equal(
        found.numpy(), ops.max_pool2d_grad(grad, indices, x.shape).numpy()
    )
    turned = positions.transpose(2, 3).contiguous().transpose(2, 3)
    np.testing.assert_array_equal(found.numpy(), ops.max_pool2d_grad(grad, turned, x.shape).numpy())


@pytest.mark.parametrize("side", [12, 20])
def test_positions_of_channels_last(side):
    x = flambeau.randn(2, 3, side, side)
    turned = x.to(memory_format=flambeau.channels_last)
    pool = ops.max_pool2d_compact_indices
    for mine, theirs in zip(pool(turned, 3, 2, 1), pool(x, 3, 2, 1), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
        assert mine.dtype is theirs.dtype


def test_positions_outside_a_plane_are_refused():
    positions = flambeau.full((1, 1, 2, 2), 200, dtype=flambeau.uint8)
    with pytest.raises(IndexError, match="index 200 lies outside"):
        ops.max_pool2d_grad(flambeau.ones(1, 1, 2, 2), positions, (1, 1, 4, 4))
    with pytest.raises(RuntimeError, match="indices"):
        ops.max_pool2d_grad(flambeau.ones(1, 1, 2, 2), positions.to(flambeau.int32), (1, 1, 4, 4))
