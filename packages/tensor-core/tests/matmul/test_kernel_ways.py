"""Kernels that choose a way by the sizes of windows, rows and columns, against plain NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

NAN, INF = float("nan"), float("inf")


def windows(length, count):
    return [(i * length // count, -((-(i + 1) * length) // count)) for i in range(count)]


def adaptive(x, sizes, reduce):
    """Every window of the last dimensions reduced by itself."""
    spans = [windows(n, size) for n, size in zip(x.shape[-len(sizes):], sizes, strict=True)]
    out = np.empty((*x.shape[:-len(sizes)], *sizes), x.dtype)
    for index in itertools.product(*map(range, sizes)):
        window = tuple(slice(*spans[d][i]) for d, i in enumerate(index))
        dims = tuple(range(-len(sizes), 0))
        out[(..., *index)] = reduce(x[(..., *window)], dims)
    return out


SIZES = [((3, 70), (7,)), ((2, 3, 100), (1,)), ((2, 3, 96), (4,)), ((2, 64, 33), (5, 2)),
         ((2, 2, 64, 64), (2, 2)), ((1, 2, 30, 40), (30, 7)), ((2, 20, 20), (20, 20)),
         ((2, 17, 9, 40), (3, 4, 1)), ((1, 2, 9, 20, 18), (1, 1, 1)), ((2, 8, 8, 8), (3, 8, 5))]


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("shape, sizes", SIZES)
def test_adaptive_pools(shape, sizes, dtype):
    n = len(sizes)
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    x[..., 3:5] = 7         # equal maxima
    best, mean = (getattr(ops, f"adaptive_{kind}_pool{n}d") for kind in ("max", "avg"))
    expected = adaptive(x, sizes, np.max)
    turned = flambeau.tensor(np.ascontiguousarray(x.swapaxes(-1, 0))).transpose(-1, 0)
    for given in (flambeau.tensor(x), turned):
        np.testing.assert_array_equal(best(given, sizes).numpy(), expected)
        np.testing.assert_allclose(mean(given, sizes).numpy(), adaptive(x, sizes, np.mean),
                                   rtol=1e-5, atol=1e-6)
    values, indices = best(flambeau.tensor(x), sizes, True)
    np.testing.assert_array_equal(values.numpy(), expected)
    flat, at = x.reshape(*shape[:-n], -1), indices.numpy().reshape(*shape[:-n], -1)
    np.testing.assert_array_equal(np.take_along_axis(flat, at, -1).reshape(expected.shape),
                                  expected)


@pytest.mark.parametrize("length, count", ((70, 7), (96, 2), (40, 3), (12, 4)))
def test_adaptive_maxima_of_nan(length, count):
    x = np.random.default_rng(1).standard_normal((3, length)).astype("float32")
    x[0, 2] = x[0, 5] = x[1, -1] = NAN
    x[2] = -INF
    values, indices = ops.adaptive_max_pool1d(flambeau.tensor(x), count, True)
    spans = windows(length, count)
    expected = np.stack([x[:, a:b].max(-1) for a, b in spans], -1)
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(ops.adaptive_max_pool1d(flambeau.tensor(x), count).numpy(),
                                  expected)
    assert indices[0, 0].item() == max(i for i in (2, 5) if i < spans[0][1])     # the last NaN
    assert indices[2].tolist() == [a for a, _ in spans]


@pytest.mark.parametrize("dtype", ("float32", "float64", "int64"))
@pytest.mark.parametrize("width", (3, 15, 16, 17, 40, 130))
@pytest.mark.parametrize("dilation", (1, 2))
def test_maxima_of_windows_that_step_by_one(width, dilation, dtype):
    x = np.random.default_rng(2).integers(-50, 50, (2, 3, 12, width)).astype(dtype)
    if dtype != "int64":
        x[0, 0, 4, width // 2] = NAN
        x[1] = -INF
    size = (3, 3 if width > 2 * dilation else 1)
    given = ops.max_pool2d(flambeau.tensor(x), size, 1, 0, dilation)
    oh, ow = (n - (k - 1) * dilation for n, k in zip(x.shape[-2:], size, strict=True))
    taps = [x[..., i * dilation:i * dilation + oh, j * dilation:j * dilation + ow]
            for i in range(size[0]) for j in range(size[1])]
    np.testing.assert_array_equal(given.numpy(), np.max(taps, 0))
    with_indices = ops.max_pool2d(flambeau.tensor(x), size, 1, 0, dilation, False, True)[0]
    np.testing.assert_array_equal(given.numpy(), with_indices.numpy())


@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16", "float16"))
@pytest.mark.parametrize("shape", ((1, 3), (7, 5), (8, 64), (9, 257), (100, 300)))
def test_nansum_and_norms_of_columns(shape, dtype):
    x = np.random.default_rng(3).standard_normal(shape).astype("float32")
    x[::3, ::2] = NAN
    t = flambeau.tensor(x).to(getattr(flambeau, dtype))
    wide = t.double().numpy()
    close = {"float32": 1e-5, "float64": 1e-12}.get(dtype, 1e-2)
    for given, over in ((t, 0), (t.t(), 1)):
        np.testing.assert_allclose(given.nansum(over).double().numpy(), np.nansum(wide, 0),
                                   rtol=close, atol=20 * close)
    whole = t.nan_to_num()
    for p in (1, 2, 3, INF):
        given = ops.linalg_vector_norm(whole, p, 0)
        np.testing.assert_allclose(given.double().numpy(),
                                   np.linalg.norm(np.nan_to_num(wide), p, axis=0), rtol=2 * close)
    stacked = flambeau.tensor(np.stack([x, x + 1]))
    np.testing.assert_allclose(stacked.nansum(1).numpy(), np.nansum(stacked.numpy(), 1), rtol=1e-4,
                               atol=1e-4)


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("exponent", (-1, -2, -1.0, 2, 3))
def test_powers_that_are_products(exponent, dtype):
    x = np.array([0.0, -0.0, 1.5, -3.0, INF, -INF, NAN, 1e-30] * 9, dtype)
    with np.errstate(all="ignore"):
        square = x * x
        expected = {2: square, 3: square * x, -1: 1 / x, -2: 1 / square}[int(exponent)]
    t = flambeau.tensor(x)
    np.testing.assert_array_equal((t ** exponent).numpy(), expected)
    np.testing.assert_array_equal((t.reshape(8, 9).t() ** exponent).numpy(),
                                  expected.reshape(8, 9).T)


@pytest.mark.parametrize("dtype", ("float32", "float64", "int64", "bfloat16", "complex64"))
@pytest.mark.parametrize("rows, cols", ((300, 40), (70, 33), (5, 600), (40, 1030), (7, 5000)))
def test_one_value_for_each_row(rows, cols, dtype):
    rng = np.random.default_rng(4)
    kind = "float32" if dtype == "bfloat16" else dtype
    x = rng.integers(-9, 9, (rows, cols)).astype(kind)
    one = rng.integers(1, 9, (rows, 1)).astype(kind)
    t, u = (flambeau.tensor(a).to(getattr(flambeau, dtype)) for a in (x, one))
    for given, expected in ((t * u, x * one), (t - u, x - one), (u - t, one - x),
                            (t + u + u, x + one + one)):
        np.testing.assert_array_equal(given.to(getattr(flambeau, kind)).numpy(), expected)
    np.testing.assert_array_equal(flambeau.outer(u[:, 0], t[0]).to(getattr(flambeau, kind)).numpy(),
                                  np.outer(one[:, 0], x[0]))


@pytest.mark.parametrize("reduction", ("none", "mean", "sum"))
@pytest.mark.parametrize("weighted", (False, True))
def test_losses_of_class_numbers_at_positions(reduction, weighted):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((3, 4, 5, 7))
    target = rng.integers(0, 4, (3, 5, 7))
    target[0, 1] = -100
    weight = rng.random(4) if weighted else np.ones(4)
    kept = target != -100
    classes = np.where(kept, target, 0)
    each = weight[classes] * kept
    terms = -np.take_along_axis(x, classes[:, None], 1)[:, 0] * each
    expected = {"none": terms, "sum": terms.sum(), "mean": terms.sum() / each.sum()}[reduction]
    w = flambeau.tensor(weight) if weighted else None
    for scores in (flambeau.tensor(x), flambeau.tensor(x.swapaxes(0, 3).copy()).transpose(0, 3)):
        given = ops.nll_loss(scores, flambeau.tensor(target), w, reduction=reduction)
        np.testing.assert_allclose(given.numpy(), expected, rtol=1e-12)
    with pytest.raises(IndexError, match="4 classes"):
        ops.nll_loss(flambeau.tensor(x), flambeau.tensor(target + 4))


@pytest.mark.parametrize("n", (2, 4, 30, 64, 100, 500, 512, 1000, 1024, 1030))
def test_real_transforms_of_many_rows(n):
    x = np.random.default_rng(6).standard_normal((37, n))
    for dtype, close in (("float32", 3e-6), ("float64", 1e-13)):
        t = flambeau.tensor(x.astype(dtype))
        terms = flambeau.fft.rfft(t)
        size = np.abs(np.fft.rfft(x)).max()
        np.testing.assert_allclose(terms.numpy(), np.fft.rfft(x), atol=close * size)
        np.testing.assert_allclose(flambeau.fft.irfft(terms, n).numpy(), x, atol=close * 4)


@pytest.mark.parametrize("dtype", ("float32", "float64", "int64", "int32", "bfloat16", "complex64"))
@pytest.mark.parametrize("cols", (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 100, 129, 1500))
def test_every_second_element(cols, dtype):
    rng = np.random.default_rng(7)
    kind = "float32" if dtype == "bfloat16" else dtype
    x = rng.integers(-100, 100, (37, 2 * cols - 1)).astype(kind)
    t = flambeau.tensor(x).to(getattr(flambeau, dtype))
    given, expected = t[:, ::2], x[:, ::2]
    np.testing.assert_array_equal(given.to(getattr(flambeau, kind)).numpy(), expected)
    np.testing.assert_array_equal((given + given).to(getattr(flambeau, kind)).numpy(),
                                  expected + expected)
    np.testing.assert_array_equal(given.sum(1).to(getattr(flambeau, kind)).numpy(),
                                  flambeau.tensor(expected.copy()).to(t.dtype).sum(1)
                                  .to(getattr(flambeau, kind)).numpy())
    target = t.clone()
    target[:, ::2] = given + 1
    changed = x.copy()
    changed[:, ::2] += np.asarray(1, kind)
    np.testing.assert_array_equal(target.to(getattr(flambeau, kind)).numpy(), changed)


def test_nansum_of_permuted_and_strided_tensors():
    x = np.random.default_rng(8).standard_normal((9, 20, 34)).astype("float32")
    x[::2, 3] = NAN
    t = flambeau.tensor(x)
    for given, expected in ((t.permute(2, 0, 1), x.transpose(2, 0, 1)), (t[:, ::2, ::2],
                            x[:, ::2, ::2]), (t[::3].transpose(0, 2), x[::3].transpose(2, 1, 0)),
                            (t[:1].expand(4, 20, 34), np.broadcast_to(x[:1], (4, 20, 34)))):
        for dims in (0, 1, 2, (0, 2), (0, 1), (1, 2), (0, 1, 2)):
            np.testing.assert_allclose(given.nansum(dims).numpy(), np.nansum(expected, dims),
                                       rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(
                ops.linalg_vector_norm(given.nan_to_num(), 1, dims).numpy(),
                np.abs(np.nan_to_num(expected)).sum(dims), rtol=1e-4)


@pytest.mark.parametrize("dtype", ("int64", "float32", "bool", "int8"))
def test_runs_of_equal_elements(dtype):
    x = np.repeat(np.random.default_rng(9).integers(0, 3, 500), 3).astype(dtype)
    t = flambeau.tensor(x)
    expected = x[np.flatnonzero(np.r_[True, x[1:] != x[:-1]])]
    np.testing.assert_array_equal(flambeau.unique_consecutive(t).numpy(), expected)
    np.testing.assert_array_equal(flambeau.unique_consecutive(t.reshape(50, 30)).numpy(), expected)
    assert flambeau.unique_consecutive(t[:0]).shape == (0,)
    if dtype == "float32":
        odd = flambeau.unique_consecutive(flambeau.tensor([NAN, NAN, 0.0, -0.0, 1.0]))
        np.testing.assert_array_equal(odd.numpy(), [NAN, NAN, 0.0, 1.0])
