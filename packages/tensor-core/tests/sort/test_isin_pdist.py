"""Membership by tables and distances of pairs, where sizes and values choose the way."""

from __future__ import annotations

import numpy
import pytest

import flambeau
from flambeau.core import ops

NAN = float("nan")


@pytest.mark.parametrize("dtype", ("int64", "int8", "uint8", "float32", "float64", "float16"))
@pytest.mark.parametrize("spread", (30, 100))
def test_isin(dtype, spread):
    rng = numpy.random.default_rng(0)
    x = rng.integers(0, spread, (7, 90)).astype(dtype)
    for count in (0, 1, 5, 20, 700):
        tests = rng.integers(0, spread, count).astype(dtype)
        given = flambeau.isin(flambeau.tensor(x), flambeau.tensor(tests))
        numpy.testing.assert_array_equal(given.numpy(), numpy.isin(x, tests))
        given = flambeau.isin(flambeau.tensor(x).t(), flambeau.tensor(tests), invert=True)
        numpy.testing.assert_array_equal(given.numpy(), ~numpy.isin(x.T, tests))


def test_isin_of_numbers_far_apart():
    ends = numpy.array([-2**63, 2**63 - 1, 0, -1, 1, 2**40, 5], "int64")
    tests = numpy.array([2**63 - 1, -2**63, 0, 2**40, 2**41, 7], "int64")
    given = flambeau.isin(flambeau.tensor(ends), flambeau.tensor(tests))
    assert given.tolist() == [True, True, True, False, False, True, False]
    wide = ends.view("uint64")
    given = flambeau.isin(flambeau.tensor(wide), flambeau.tensor(tests.view("uint64")))
    assert given.tolist() == [True, True, True, False, False, True, False]


def test_isin_of_floats_as_comparison_has_it():
    x = flambeau.tensor([0.0, -0.0, NAN, float("inf"), 1.5, 2.0])
    tests = flambeau.tensor([-0.0, NAN, float("inf"), 1.5, 9.0, 8.0, 7.0])
    assert flambeau.isin(x, tests).tolist() == [True, True, False, True, True, False]
    assert flambeau.isin(x, tests[1:]).tolist() == [False, False, False, True, True, False]


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("shape", ((2, 3), (5, 1), (63, 5), (64, 9), (130, 300), (70, 513)))
def test_pdist(shape, dtype):
    x = numpy.random.default_rng(1).standard_normal(shape).astype(dtype)
    wide = x.astype("float64")
    expected = [numpy.sqrt(((wide[i] - wide[i + 1:]) ** 2).sum(1)) for i in range(len(x) - 1)]
    given = ops.pdist(flambeau.tensor(x), 2.0)
    numpy.testing.assert_allclose(given.numpy(), numpy.concatenate(expected),
                                  rtol=2e-6 if dtype == "float32" else 1e-14)


def test_pdist_of_few_rows_and_columns():
    for shape, pairs in (((0, 3), 0), ((1, 3), 0), ((3, 0), 3)):
        assert ops.pdist(flambeau.zeros(*shape), 2.0).tolist() == [0.0] * pairs
    x = flambeau.tensor([[1.0, NAN], [2.0, 1.0], [4.0, 1.0]])
    numpy.testing.assert_array_equal(ops.pdist(x, 2.0).numpy(), [NAN, NAN, 2.0])
    assert ops.pdist(x[1:].half(), 2.0).tolist() == [2.0]


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("shapes", (((3, 2), (5, 2)), ((2, 65, 7), (64, 7)), ((0, 3), (4, 3)),
                                    ((4, 300), (2, 3, 300)), ((1, 1), (130, 1)), ((3, 0), (2, 0))))
@pytest.mark.parametrize("p", (1.0, 2.0, float("inf")))
def test_cdist_without_products(shapes, dtype, p):
    rng = numpy.random.default_rng(2)
    x, y = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    gaps = numpy.abs(x.astype("float64")[..., :, None, :] - y.astype("float64")[..., None, :, :])
    expected = (gaps.sum(-1) if p == 1 else numpy.sqrt((gaps ** 2).sum(-1)) if p == 2
                else gaps.max(-1, initial=0))
    given = flambeau.cdist(flambeau.tensor(x), flambeau.tensor(y), p,
                           "donot_use_mm_for_euclid_dist")
    assert given.dtype is flambeau.tensor(x).dtype
    numpy.testing.assert_allclose(given.numpy(), expected,
                                  rtol=3e-6 if dtype == "float32" else 1e-14, atol=1e-30)
    turned = flambeau.tensor(numpy.ascontiguousarray(x.swapaxes(-1, -2))).transpose(-1, -2)
    again = flambeau.cdist(turned, flambeau.tensor(y), p, "donot_use_mm_for_euclid_dist")
    numpy.testing.assert_array_equal(again.numpy(), given.numpy())


@pytest.mark.parametrize("p", (1.0, 2.0, float("inf")))
def test_cdist_of_what_is_not_finite(p):
    x = flambeau.tensor([[NAN, 1.0, 0.0], [1.0, 1.0, NAN], [float("inf"), 0.0, 0.0],
                         [2.0, 1.0, 0.0]])
    given = flambeau.cdist(x, x[3:], p).reshape(-1)
    numpy.testing.assert_array_equal(given.numpy(), [NAN, NAN, float("inf"), 0.0])
    assert flambeau.cdist(x[3:].half(), x[3:].half() + 1, p=1.0).tolist() == [[3.0]]
