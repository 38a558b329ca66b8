"""beta * self + alpha * product of half precision: rounded once, whatever is added."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import flambeau
from flambeau.core import ops

FACTORS = [{}, {"beta": 0.5}, {"beta": 0}, {"alpha": 3}, {"beta": -2, "alpha": 0.25},
           {"beta": 0, "alpha": 0.5}]
HALVES = [flambeau.bfloat16, flambeau.float16]


def made(dtype, *shape):
    rng = np.random.default_rng(sum(shape))
    return flambeau.tensor(rng.standard_normal(shape).astype("float32")).to(dtype)


def close(given, x, a, b, beta=1, alpha=1):
    """One rounding of a sum in float32."""
    added = 0 if beta == 0 else beta * x.double()
    exact = (added + alpha * (a.double() @ b.double())).numpy()
    size = np.abs(alpha) * (a.double().abs() @ b.double().abs()).numpy() + 4
    unit = 2.0**-8 if given.dtype is flambeau.bfloat16 else 2.0**-11
    assert given.dtype is a.dtype
    assert given.shape == exact.shape
    bound = unit * np.abs(exact) + 2.0**-23 * a.shape[-1] * size + 2.0**-24
    assert (np.abs(given.double().numpy() - exact) <= bound).all()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("factors", FACTORS, ids=str)
@pytest.mark.parametrize("k", [0, 1, 15, 16, 17, 64, 258])
def test_matrices(dtype, factors, k):
    for m, n in ((1, 1), (3, 5), (17, 33), (40, 70)):
        a, b = made(dtype, m, k), made(dtype, k, n)
        views = (a, made(dtype, k, m).t(), made(dtype, m, 2 * k + 1)[:, 1::2])
        for left, x in itertools.product(views, (made(dtype, m, n), made(dtype, n),
                                                 made(dtype, m, 1), made(dtype),
                                                 made(dtype, n, m).t())):
            close(flambeau.addmm(x, left, b, **factors), x, left, b, **factors)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("factors", FACTORS, ids=str)
def test_stacks_and_vectors(dtype, factors):
    a, b = made(dtype, 3, 5, 32), made(dtype, 3, 32, 7)
    for x in (made(dtype, 3, 5, 7), made(dtype, 5, 7), made(dtype, 3, 1, 7), made(dtype, 1)):
        close(flambeau.baddbmm(x, a, b, **factors), x, a, b, **factors)
    x, vector = made(dtype, 5), made(dtype, 32)
    close(flambeau.addmv(x, a[0], vector, **factors), x, a[0], vector, **factors)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_targets_and_numbers_that_are_not_read(dtype):
    a, b, x = made(dtype, 6, 32), made(dtype, 32, 6), made(dtype, 6, 6)
    wanted = flambeau.addmm(x, a, b)
    target = flambeau.empty(6, 6, dtype=dtype)
    assert flambeau.equal(flambeau.addmm(x, a, b, out=target), wanted)
    assert flambeau.equal(target, wanted)
    assert flambeau.equal(x.clone().addmm_(a, b), wanted)
    nan = flambeau.full((6, 6), float("nan"), dtype=dtype)
    assert flambeau.equal(flambeau.addmm(nan, a, b, beta=0), a @ b)
    assert flambeau.addmm(nan, a, b).isnan().all()
    with pytest.raises(RuntimeError, match="expanded"):
        flambeau.addmm(made(dtype, 7), a, b)


@pytest.mark.parametrize("dtype", [*HALVES, flambeau.float32, flambeau.float64], ids=str)
def test_wide_products(dtype):
    a, b = made(dtype, 4, 32), made(dtype, 32, 3)
    given = ops.wide_product(a, b)
    assert given.dtype is (flambeau.float64 if dtype is flambeau.float64 else flambeau.float32)
    np.testing.assert_allclose(given.double().numpy(), (a.double() @ b.double()).numpy(),
                               rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [flambeau.int64, flambeau.bool, flambeau.complex64], ids=str)
def test_other_wide_products_are_refused(dtype):
    x = flambeau.ones(2, 2, dtype=dtype)
    with pytest.raises(NotImplementedError, match="only floating tensors"):
        ops.wide_product(x, x)
