"""Multiplying in place and looking for what is not finite, in one pass."""

import math

import numpy as np
import pytest

import flambeau
from flambeau.core import ops


def unscale_(x, factor):
    """In place; whether something was not finite."""
    return ops.amp_unscale(x, factor, out=(x, flambeau.empty((), dtype=flambeau.bool)))[1]


DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 50), (100_003,)])
def test_finite_numbers(dtype, shape):
    x = flambeau.ones(shape, dtype=getattr(flambeau, dtype))
    found = unscale_(x, 0.25)
    assert (found.dtype, found.shape, bool(found)) == (flambeau.bool, (), False)
    assert bool((x == 0.25).all())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("index", [0, 17, 69_999])
def test_one_that_is_not(dtype, bad, index):
    x = flambeau.zeros(70_000, dtype=getattr(flambeau, dtype))
    x[index] = bad
    assert bool(unscale_(x, 0.5))


def test_a_new_tensor():
    x = flambeau.tensor([2.0, math.inf])
    result, found = ops.amp_unscale(x, 0.5)
    assert (result.tolist(), x.tolist()) == ([1.0, math.inf], [2.0, math.inf])
    assert bool(found)


def test_the_greatest_and_the_least_are_finite():
    info = np.finfo(np.float32)
    x = flambeau.tensor([info.max, -info.max, info.tiny, info.smallest_subnormal, -0.0])
    assert not unscale_(x, 1.0)


def test_strided_and_of_the_version():
    base = flambeau.ones(4, 6)
    view = base[::2, 1:5].t()
    version = base._version
    assert not unscale_(view, 3.0)
    assert base.sum() == 24 + 2 * 8
    assert base._version == version + 1
    view[1, 1] = math.inf
    assert unscale_(view, 3.0)


def test_what_cannot_be_unscaled():
    with pytest.raises(RuntimeError, match="floating-point numbers"):
        unscale_(flambeau.ones(2, dtype=flambeau.int64), 0.5)
    with pytest.raises(RuntimeError, match="more than one element"):
        unscale_(flambeau.ones(1).expand(3), 0.5)
