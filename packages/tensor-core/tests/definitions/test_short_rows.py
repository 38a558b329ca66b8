"""Rows that are reduced, converted, scaled or multiplied in one pass get the results of several."""

from __future__ import annotations

import itertools
import math
import operator

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

RANDOM = np.random.default_rng(0)
HALVES = [flambeau.float16, flambeau.bfloat16]
ODD = [0.0, -0.0, np.inf, -np.inf, np.nan, 6e-8, 70000.0]


def _same(result, expected):
    got = result.numpy()
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def _equal_bits(result, expected):
    assert result.dtype is expected.dtype
    _same(result.float(), expected.float().numpy())


def _numbers(count, dtype):
    a = RANDOM.standard_normal(count).astype(np.float32)
    a[::9] = np.resize(ODD, len(a[::9]))
    return flambeau.tensor(a).to(dtype)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000, 70001])
def test_arithmetic_of_half_precision_rounds_once(name, count, dtype):
    function = getattr(operator, name)
    x, y = _numbers(count, dtype), _numbers(count, dtype).flip(0)
    expected = function(x.float(), y.float()).to(dtype)
    _equal_bits(function(x, y), expected)
    apart = flambeau.stack([y, y], -1)[:, 0]
    _equal_bits(function(x, apart), expected)
    _equal_bits(function(x, y[:1]), function(x.float(), y[:1].float()).to(dtype))
    _equal_bits(function(y[0], x), function(y[0].float(), x.float()).to(dtype))
    _equal_bits(getattr(operator, "i" + name)(x.clone(), y), expected)
    for number in (0.1, 3, 1e-30):
        _equal_bits(function(x, number), function(x.float(), number).to(dtype))
        _equal_bits(function(number, x), function(number, x.float()).to(dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_extremes_of_half_precision(dtype):
    x = _numbers(1000, dtype)
    y = _numbers(1000, dtype).roll(5)
    for name in ("maximum", "minimum"):
        function = getattr(flambeau, name)
        _equal_bits(function(x, y), function(x.float(), y.float()).to(dtype))
    for function in (operator.neg, abs):
        for given in (x, x[::2], x[:0]):
            result, expected = function(given), function(given.float())
            _equal_bits(result, expected.to(dtype))
            zeros = given.float().numpy() == 0
            np.testing.assert_array_equal(np.signbit(result.float().numpy()[zeros]),
                                          np.signbit(expected.numpy()[zeros]))
    for bounds in ({"min": 0.3}, {"max": 0.3}, {"min": -1}, {"min": -0.1, "max": 0.7},
                   {"min": 0.1, "max": 0.09999}, {"min": y, "max": y.roll(1)},
                   {"min": -1.0, "max": math.nan}):
        _equal_bits(x.clamp(**bounds), x.float().clamp(**bounds).to(dtype))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
@pytest.mark.parametrize("low, high", [(3, 100), (100, 3), (0, 0)])
def test_clamped_integers(dtype, low, high):
    array = RANDOM.integers(0, 127, 9001).astype(dtype)
    x = flambeau.from_numpy(array)
    expected = np.minimum(np.maximum(array, low), high)
    np.testing.assert_array_equal(x.clamp(low, high).numpy(), expected)
    bounds = (flambeau.full_like(x, low), flambeau.full_like(x, high))
    np.testing.assert_array_equal(x.clamp(*bounds).numpy(), expected)
    np.testing.assert_array_equal(x[::2].clamp(low, high).numpy(), expected[::2])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("shape", [(5, 1), (300, 33), (3, 8192), (2, 8193), (1, 20000)], ids=str)
def test_rows_of_half_precision_are_those_of_float32(shape, dtype):
    x = flambeau.tensor(RANDOM.standard_normal(shape)).to(dtype)
    weight, bias = (x[i % shape[0]] * 2 for i in (0, 1))
    wide = x.float()
    for name in ("softmax", "log_softmax"):
        function = getattr(ops, name)
        _equal_bits(function(x, -1), function(wide, -1).to(dtype))
        _equal_bits(function(x.t(), 0), function(wide.t(), 0).to(dtype))
    for w, b in itertools.product((None, weight), (None, bias)):
        given = [None if t is None else t.float() for t in (w, b)]
        parts = ops.native_layer_norm(x, 1, w, b, 1e-5)
        expected = ops.native_layer_norm(wide, 1, *given, 1e-5)
        _equal_bits(parts[0], expected[0].to(dtype))
        _equal_bits(parts[1], expected[1])
        _equal_bits(parts[2], expected[2])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("shape", [(5, 1), (0, 4), (3000, 33), (3, 8192), (2, 8193)], ids=str)
def test_gradients_of_rows_of_half_precision(shape, dtype):
    grad, x, scale = (flambeau.tensor(RANDOM.standard_normal(s)).to(dtype)
                      for s in (shape, shape, shape[1:]))
    for name in ("softmax_grad", "log_softmax_grad"):
        function = getattr(ops, name)
        _equal_bits(function(grad, x, -1), function(grad.float(), x.float(), -1).to(dtype))
    mean, rstd = ops.native_layer_norm(x, 1, None, None, 1e-5)[1:]
    for weight in (None, scale):
        wide = None if weight is None else weight.float()
        parts = ops.layer_norm_grad(grad, x, mean, rstd, weight, 1)
        for got, expected in zip(parts, ops.layer_norm_grad(grad.float(), x.float(), mean, rstd,
                                                            wide, 1), strict=True):
            _equal_bits(got, expected.to(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 15, 64, 100, 8191, 8192, 100_003])
def test_sums_of_what_was_prepared(count, dtype):
    a = RANDOM.standard_normal(count).astype(dtype)
    x, wide = flambeau.tensor(a), a.astype(np.float64)
    close = {"rtol": 1e-6 if dtype == "float32" else 1e-13}
    for norm in (flambeau.norm, flambeau.linalg.vector_norm):
        np.testing.assert_allclose(norm(x, 2).numpy(), np.sqrt((wide ** 2).sum()), **close)
        np.testing.assert_allclose(norm(x, 1).numpy(), np.abs(wide).sum(), **close)
    a[::3] = np.nan
    np.testing.assert_allclose(flambeau.nansum(flambeau.tensor(a)).numpy(),
                               np.nansum(a.astype(np.float64)), rtol=close["rtol"], atol=1e-4)
    assert np.isnan(flambeau.norm(flambeau.tensor(a)).item())


@pytest.mark.parametrize("sizes", [(1, 1, 1), (4, 3, 16), (7, 5, 33), (9, 0, 4), (130, 20, 50)],
                         ids=str)
def test_products_of_integers_wrap(sizes):
    m, k, n = sizes
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    a, b = RANDOM.integers(low, high, (m, k)), RANDOM.integers(low, high, (k, n))
    _same(flambeau.tensor(a) @ flambeau.tensor(b), a @ b)
    _same(flambeau.tensor(np.stack([a, -a])) @ flambeau.tensor(b), np.stack([a, -a]) @ b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_column_times_a_row(dtype):
    a, b = RANDOM.standard_normal((50, 3)).astype(dtype), RANDOM.standard_normal((4, 70))
    b = b.astype(dtype)
    a[3, 1], b[2, 5] = np.inf, np.nan
    x, y = flambeau.tensor(a), flambeau.tensor(b)
    _same(x[:, 1:2] @ y[2:3], a[:, 1:2] * b[2:3])
    _same(x[:, 1:2] @ y.t()[:1, 1:3], a[:, 1:2] * b.T[:1, 1:3])
    _same(x[:, :1] @ y[:1, 4:5], a[:, :1] * b[:1, 4:5])
    zero = flambeau.tensor(np.zeros((1, 1), dtype)) @ flambeau.tensor(np.full((1, 2), -1, dtype))
    assert not np.signbit(zero.numpy()).any()


@pytest.mark.parametrize("shapes", [((3,), (4,)), ((2, 3), (4,)), ((3,), (2, 4)), ((), (2, 2)),
                                    ((2, 3), (5, 4)), ((2, 3, 2), (2, 1, 4)), ((2, 0), (3, 2))],
                         ids=str)
def test_kron_by_whole_rows(shapes):
    a, b = (RANDOM.standard_normal(s) for s in shapes)
    _same(flambeau.kron(flambeau.tensor(a), flambeau.tensor(b)), np.kron(a, b))


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_pairs_of_elements(count, again):
    a = RANDOM.standard_normal(count)
    choose = itertools.combinations_with_replacement if again else itertools.combinations
    expected = np.array(list(choose(a, 2)), np.float64).reshape(-1, 2)
    _same(flambeau.combinations(flambeau.tensor(a), 2, again), expected)


@pytest.mark.parametrize("size", [1, 2, 3, 50])
@pytest.mark.parametrize("dim", [0, 1])
def test_trapezoids_as_one_sum(size, dim):
    a = RANDOM.standard_normal((size, 4) if dim == 0 else (4, size))
    result = flambeau.trapezoid(flambeau.tensor(a), dx=0.5, dim=dim)
    pairs = np.moveaxis(a, dim, 0)
    expected = (pairs[1:] + pairs[:-1]).sum(0) * 0.25
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-13)
    whole = flambeau.trapezoid(flambeau.tensor([[1, 2, 4], [3, 5, 8]]))
    _same(whole, np.array([4.5, 10.5], np.float32))
    assert flambeau.trapezoid(flambeau.tensor([np.inf, 1.0, 2.0])).item() == np.inf


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 16, 33, 128, 300])
def test_bags_of_rows(width, dtype):
    table = RANDOM.standard_normal((20, width)).astype(dtype)
    indices = RANDOM.integers(0, 20, (6, 13))
    x, positions = flambeau.tensor(table), flambeau.tensor(indices)
    close = {"rtol": 1e-5, "atol": 1e-5}
    bag = ops.embedding_bag
    np.testing.assert_allclose(bag(positions, x, mode="sum").numpy(), table[indices].sum(1),
                               **close)
    np.testing.assert_allclose(bag(positions, x, mode="mean").numpy(), table[indices].mean(1),
                               **close)
    kept = np.where((indices != 3)[..., None], table[indices], 0)
    np.testing.assert_allclose(bag(positions, x, mode="sum", padding_idx=3).numpy(), kept.sum(1),
                               **close)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
@pytest.mark.parametrize("sizes", [(1, 64), (65, 100), (127, 300), (5000, 16)], ids=str)
def test_joins_of_blocks(sizes, dtype):
    parts = [RANDOM.integers(0, 200, (7, n)).astype(dtype) for n in sizes]
    joined = flambeau.cat([flambeau.tensor(a) for a in parts], 1)
    _same(joined, np.concatenate(parts, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9])
def test_small_matrices_by_elimination(n, dtype):
    random = np.random.default_rng(n)
    a = random.standard_normal((40, n, n)).astype(dtype)
    a[0] = np.eye(n)[::-1]
    x, close = flambeau.tensor(a), {"rtol": 1e-3 if dtype == "float32" else 1e-9, "atol": 1e-3}
    np.testing.assert_allclose((x.inverse() @ x).numpy(), np.broadcast_to(np.eye(n), a.shape),
                               **close)
    np.testing.assert_allclose(flambeau.linalg.det(x).numpy(), np.linalg.det(a), **close)
    b = random.standard_normal((40, n, 2)).astype(dtype)
    solved = flambeau.linalg.solve(x, flambeau.tensor(b))
    np.testing.assert_allclose((x @ solved).numpy(), b, **close)
    lower, pivots = flambeau.linalg.lu_factor(x)
    p, left, right = flambeau.lu_unpack(lower, pivots)
    np.testing.assert_allclose((p @ left @ right).numpy(), a, rtol=1e-5, atol=1e-5)
    assert np.abs(np.tril(left.numpy(), -1)).max(initial=0) <= 1        # rows were exchanged


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_small_singular_matrices(n):
    a = RANDOM.standard_normal((3, n, n))
    a[1, :, n - 1] = 0
    x = flambeau.tensor(a)
    assert flambeau.linalg.det(x)[1].item() == 0
    _same(flambeau.linalg.inv_ex(x)[1], np.array([0, n, 0], np.int32))
    with pytest.raises(flambeau.linalg.LinAlgError, match=f"The diagonal element {n} is zero"):
        flambeau.linalg.inv(x)
    a[1] = np.nan
    assert flambeau.linalg.det(flambeau.tensor(a))[1].isnan().item()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_frexp_of_any_number(dtype):
    info = np.finfo(dtype)
    edges = [0.0, -0.0, 1, -1, 0.5, 3, np.inf, -np.inf, info.tiny, info.max, info.min,
             info.smallest_subnormal, -info.tiny / 2]
    a = np.concatenate([np.array(edges, dtype), RANDOM.standard_normal(40_000).astype(dtype)])
    for got, expected in zip(flambeau.frexp(flambeau.tensor(a)), np.frexp(a), strict=True):
        _same(got, expected)
    assert np.signbit(flambeau.frexp(flambeau.tensor(a)).mantissa[1].item())
    mantissa, _ = flambeau.frexp(flambeau.tensor([np.nan]))
    assert mantissa.isnan().all()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 1.0])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 16_320, 16_400, 70_001])
def test_counts_of_true_elements(count, share):
    mask = RANDOM.random(count) < share
    a = RANDOM.standard_normal(count)
    _same(flambeau.tensor(a)[flambeau.tensor(mask)], a[mask])
    _same(flambeau.tensor(mask).nonzero()[:, 0], np.flatnonzero(mask))


@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float16])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_of_two_equal_zeros_the_first_is_taken(name, dtype):
    zeros = flambeau.tensor([0.0, -0.0] * 40)
    few = getattr(flambeau, name)(zeros.to(dtype), -zeros.to(dtype))
    assert np.signbit(few.float().numpy()).tolist() == [False, True] * 40
