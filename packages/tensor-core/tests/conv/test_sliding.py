"""Convolution and pooling made of others, against definitions written out with NumPy."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from arrays import make

import flambeau
from flambeau.core import ops


def _numbers(*shape, seed=0):
    return make(shape, "float64", (-3.0, 3.0), seed=seed)


def _close(got, want):
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-12)


# ---- convolution -------------------------------------------------------------------------------
@pytest.mark.parametrize(("size", "dilation"), [(1, 1), (2, 1), (3, 1), (4, 1), (2, 3), (4, 3)])
def test_same_padding_puts_the_odd_zero_behind(size, dilation):
    x, w = _numbers(11), _numbers(size, seed=1)
    kernel = np.zeros(dilation * (size - 1) + 1)
    kernel[::dilation] = w
    total = len(kernel) - 1
    padded = np.pad(x, (total // 2, total - total // 2))
    got = ops.conv1d(flambeau.tensor(x).view(1, 1, -1), flambeau.tensor(w).view(1, 1, -1),
                     padding="same", dilation=dilation)
    _close(got[0, 0], np.correlate(padded, kernel, "valid"))


def _spread(x, weight, stride, padding, extra, dilation):
    """A transposed convolution of one image by its definition."""
    sizes = [(n - 1) * s + d * (k - 1) + 1 + e for n, s, k, d, e in zip(
        x.shape[1:], stride, weight.shape[2:], dilation, extra, strict=True)]
    whole = np.zeros((weight.shape[1], *sizes))
    for position in product(*map(range, x.shape[1:])):
        for tap in product(*map(range, weight.shape[2:])):
            at = [p * s + t * d for p, s, t, d in zip(position, stride, tap, dilation, strict=True)]
            whole[(slice(None), *at)] += x[(slice(None), *position)] @ weight[(..., *tap)]
    inside = [slice(p, n - p) for n, p in zip(sizes, padding, strict=True)]
    return whole[(slice(None), *inside)]


@pytest.mark.parametrize("options", [
    ((1, 1, 1), (0, 0, 0), (0, 0, 0), (1, 1, 1)), ((2, 1, 3), (1, 0, 1), (1, 0, 2), (1, 2, 1)),
    ((1, 2, 1), (0, 1, 1), (1, 2, 2), (2, 3, 3)),     # more output padding than the stride
])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_transposed_convolution(n, options):
    stride, padding, extra, dilation = [o[:n] for o in options]
    x, w, b = _numbers(2, *(4, 3, 2)[:n]), _numbers(2, 3, *(3, 2, 2)[:n], seed=1), _numbers(3)
    got = getattr(ops, f"conv_transpose{n}d")(
        *(flambeau.tensor(t) for t in (x, w, b)), stride, padding, extra, 1, dilation)
    _close(got, _spread(x, w, stride, padding, extra, dilation) + b.reshape(3, *[1] * n))


# ---- pooling -----------------------------------------------------------------------------------
def _positions(length, size, stride, padding, dilation):
    """The positions inside a dimension that each window meets."""
    count = (length + 2 * padding - dilation * (size - 1) - 1) // stride + 1
    starts = [i * stride - padding for i in range(count)]
    return [[s + t * dilation for t in range(size) if 0 <= s + t * dilation < length]
            for s in starts]


def test_max_pool3d_takes_the_first_maximum_and_the_last_nan():
    x = np.random.default_rng(0).integers(0, 4, (2, 5, 6, 7)).astype(np.float64)
    x[0, 1, 2, 3] = x[0, 1, 3, 3] = x[1, 4, 0, 0] = np.nan
    steps = [(2, 2, 1, 1), (3, 1, 1, 2), (2, 2, 0, 3)]
    values, indices = ops.max_pool3d(flambeau.tensor(x), *zip(*steps, strict=True),
                                     return_indices=True)
    windows = [_positions(n, *s) for n, s in zip(x.shape[1:], steps, strict=True)]
    for channel in range(2):
        for at in product(*(range(len(w)) for w in windows)):
            best, where = -np.inf, None
            for position in product(*(w[i] for w, i in zip(windows, at, strict=True))):
                value = x[(channel, *position)]
                if value > best or np.isnan(value):
                    best, where = value, np.ravel_multi_index(position, x.shape[1:])
            np.testing.assert_equal(values[(channel, *at)].item(), best)
            assert indices[(channel, *at)].item() == where


def test_avg_pool3d_counts_what_lies_inside():
    x = _numbers(2, 5, 6, 7)
    got = ops.avg_pool3d(flambeau.tensor(x), (2, 3, 2), (2, 1, 2), (1, 1, 0),
                         count_include_pad=False)
    windows = [_positions(n, *s, 1) for n, s in zip(
        x.shape[1:], [(2, 2, 1), (3, 1, 1), (2, 2, 0)], strict=True)]
    want = [[[x[(slice(None), *np.ix_(a, b, c))].mean((1, 2, 3)) for c in windows[2]]
             for b in windows[1]] for a in windows[0]]
    _close(got, np.moveaxis(np.array(want), -1, 0))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11])
def test_adaptive_windows_cover_the_dimension(size):
    x = _numbers(2, 3, 7, 5)
    t = flambeau.tensor(x)
    spans = [[slice(i * n // size, -(-(i + 1) * n // size)) for i in range(size)] for n in (7, 5)]
    blocks = [[x[..., a, b] for b in spans[1]] for a in spans[0]]
    for name, fold in (("avg", np.mean), ("max", np.max)):
        want = np.array([[fold(b, (-2, -1)) for b in row] for row in blocks])
        _close(getattr(ops, f"adaptive_{name}_pool2d")(t, size), np.moveaxis(want, (0, 1), (2, 3)))
    values, indices = ops.adaptive_max_pool2d(t, size, True)
    assert (t.flatten(2).gather(2, indices.flatten(2)).view(values.shape) == values).all().item()


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_max_pool_draws_windows_that_end_with_the_image(n):
    x = flambeau.arange(2 * 3 * 9 ** n, dtype=flambeau.float32).view(2, 3, *[9] * n)
    values, indices = getattr(ops, f"fractional_max_pool{n}d")(x, 2, output_ratio=0.5,
                                                               return_indices=True)
    assert values.shape == (2, 3, *[4] * n)
    assert (x.flatten(2).gather(2, indices.flatten(2)) == values.flatten(2)).all().item()
    assert values.flatten(2)[..., -1].tolist() == x.flatten(2)[..., -1].tolist()


def test_fractional_max_pool_takes_the_last_nan_and_the_first_of_equals():
    x = flambeau.tensor([[[1.0, 1.0, float("nan")], [float("nan"), 1.0, 0.0], [2.0, 2.0, 2.0]]])
    samples = flambeau.zeros(1, 1, 2)
    _, positions = ops.fractional_max_pool2d(x, 2, output_size=2, return_indices=True,
                                          _random_samples=samples)
    assert positions.tolist() == [[[3, 2], [3, 6 + 1]]]


def test_fractional_max_pool_of_no_images():
    values, positions = ops.fractional_max_pool2d(flambeau.zeros(0, 2, 5, 5), 2, output_size=2,
                                               return_indices=True)
    assert values.shape == positions.shape == (0, 2, 2, 2)


@pytest.mark.parametrize("sample", [float("nan"), float("inf"), 1e30])
def test_fractional_max_pool_refuses_samples_that_lead_outside(sample):
    samples = flambeau.full((1, 2, 2), sample)
    with pytest.raises(RuntimeError, match=r"samples must lie in \[0, 1\)"):
        ops.fractional_max_pool2d(flambeau.zeros(1, 2, 6, 6), 2, output_size=4,
                                  _random_samples=samples)


def test_unpooling_puts_values_back():
    x = flambeau.tensor([[[1.0, 5.0, 2.0, 3.0, 9.0]]])
    values, indices = ops.max_pool1d(x, 2, return_indices=True)
    assert ops.max_unpool1d(values, indices, 2).tolist() == [[[0.0, 5.0, 0.0, 3.0]]]
    assert ops.max_unpool1d(values, indices, 2, output_size=(5,)).tolist() == [
        [[0.0, 5.0, 0.0, 3.0, 0.0]]]


X = flambeau.ones(1, 2, 6, 6)
REFUSED = [
    (lambda: ops.conv1d(X, X), "conv1d.*weight has shape|input has shape"),
    (lambda: ops.conv2d(X, X, padding="some"), "'same' or 'valid'"),
    (lambda: ops.conv2d(X, X, padding="same", stride=2), "not supported for strided"),
    (lambda: ops.conv3d(X, X), r"depth, height, width"),
    (lambda: ops.conv2d(X, flambeau.ones(1, 2, 0, 3)), "kernel size should be greater than zero"),
    (lambda: ops.conv1d(X[0], flambeau.ones(1, 6, 0)), "kernel size should be greater than zero"),
    (lambda: ops.conv_transpose2d(X, flambeau.ones(2, 1, 0, 2)),
     "kernel size should be greater than zero"),
    (lambda: ops.conv_transpose1d(X[0], flambeau.ones(6, 1, 3), stride=2**62), "too many outputs"),
    (lambda: ops.conv_transpose1d(X[0], flambeau.ones(6, 1, 3), padding=-2**62),
     "too many outputs"),
    (lambda: ops.avg_pool3d(X, (1, 2)), "one number or 3"),
    (lambda: ops.adaptive_avg_pool2d(X, 2**70), "less than 2"),
    (lambda: ops.adaptive_max_pool1d(X[0], (1, 2)), "one number or 1"),
    (lambda: ops.conv_transpose2d(X, flambeau.ones(3, 1, 2, 2)), "must have weight.shape"),
    (lambda: ops.conv_transpose2d(X, flambeau.ones(2, 1, 2, 2), output_padding=1),
     "smaller than either stride or dilation"),
    (lambda: ops.conv_transpose2d(X, flambeau.ones(2, 1, 1, 1), padding=9), "1 or more"),
    (lambda: ops.conv_transpose2d(X, flambeau.ones(2, 1, 2, 2).double()), "same dtype"),
    (lambda: ops.max_pool3d(X[0], 2), "depth, height, width"),
    (lambda: ops.max_pool1d(X[0], (2, 2)), "one number or 1"),
    (lambda: ops.max_pool1d(X[0], 2, padding=2), "at most half"),
    (lambda: ops.adaptive_avg_pool2d(X, (1, 2, 3)), "one number or 2"),
    (lambda: ops.adaptive_max_pool2d(X, -1), "at least 0"),
    (lambda: ops.max_unpool2d(X, X, 2), "int64"),
    (lambda: ops.max_unpool2d(X, X.long() + 999, 2), "index 1000"),
    (lambda: ops.fractional_max_pool2d(X, 4, output_size=4), "do not fit"),
    (lambda: ops.im2col(X, 7), "do not fit"),
    (lambda: ops.col2im(X[0], (4, 4), 2), "must be 3 x 3"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_does_not_fit_is_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "complex64"])
def test_convolution_without_input_channels_is_its_bias(dims, dtype):
    dtype = getattr(flambeau, dtype)
    image, kernel = (2, 0, 5, 6, 7)[:2 + dims], (3, 0, 2, 3, 4)[:2 + dims]
    x, weight = flambeau.empty(image, dtype=dtype), flambeau.empty(kernel, dtype=dtype)
    conv, bias = getattr(ops, f"conv{dims}d"), flambeau.tensor([1, 2, 3])
    assert not conv(x, weight).any()
    out = conv(x, weight, flambeau.stack([bias, bias], 1)[:, 0].to(dtype))
    assert tuple(out.shape) == (2, 3, 4, 4, 4)[:2 + dims]
    assert out.flatten(2)[1, :, -1].tolist() == [1, 2, 3]


@pytest.mark.parametrize("name", ["adaptive_avg_pool2d", "adaptive_max_pool2d"])
def test_adaptive_sizes_in_every_form(name):
    """None keeps the image's size; lists, tuples, tensors and missing sizes are all read."""
    pool = getattr(ops, name)
    for size, expected in ((None, (6, 6)), ((None, 3), (6, 3)), ([2, None], (2, 6)), ((2,), (2, 2)),
                           (flambeau.tensor(3), (3, 3)), (flambeau.Size([2, 3]), (2, 3)),
                           (True, (1, 1)), (0, (0, 0))):
        assert tuple(pool(X, size).shape[2:]) == expected
    for wrong in (2.0, "2"):
        with pytest.raises(TypeError):
            pool(X, wrong)


def test_wrong_choices_are_refused():
    with pytest.raises(ValueError, match="either output_size or output_ratio"):
        ops.fractional_max_pool2d(X, 2)
    with pytest.raises(ValueError, match="differ from"):
        ops.max_unpool2d(X, X.long(), 2, output_size=(30, 30))
    with pytest.raises(NotImplementedError, match="floating"):
        ops.adaptive_avg_pool2d(X.int(), 2)


def test_fractional_max_pool_takes_more_samples_than_images():
    image, samples = flambeau.rand(2, 5, 5), flambeau.rand(3, 2, 2)
    pool = partial(ops.fractional_max_pool2d, kernel_size=2, output_size=3)
    given = pool(image, _random_samples=samples)
    assert given.tolist() == pool(image, _random_samples=samples[:1]).tolist()
    with pytest.raises(RuntimeError, match="or of more samples"):
        pool(image[None].expand(4, 2, 5, 5), _random_samples=samples)
