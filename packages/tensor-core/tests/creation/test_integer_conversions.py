"""Conversions among integers and bools, and of integers to half precision, against NumPy."""

import itertools

import numpy as np
import pytest

import flambeau

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
N = 2000


def drawn(dtype):
    rng = np.random.default_rng(0)
    if dtype == "bool":
        return rng.integers(0, 2, N).astype(bool)
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, N, dtype, endpoint=True)
    values[::5] = 0
    return values


@pytest.mark.parametrize(("source", "target"),
                         list(itertools.product(("bool", *INTEGERS), repeat=2)))
def test_integers_wrap_and_bools_are_not_zero(source, target):
    values = drawn(source)
    x = flambeau.from_numpy(values.copy())
    right = values != 0 if target == "bool" else values.astype(target)
    for each, numpy in ((x, right), (x[:1000], right[:1000]), (x[::2], right[::2]),
                        (x.view(40, 50).t(), right.reshape(40, 50).T)):
        got = each.to(getattr(flambeau, target))
        np.testing.assert_array_equal(got.numpy(), numpy)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", ["float16", "bfloat16"])
def test_halves_of_integers_are_rounded_from_float32(source, target):
    values = drawn(source)
    dtype = getattr(flambeau, target)
    got = flambeau.from_numpy(values.copy()).to(dtype).float().numpy()
    right = flambeau.from_numpy(values.astype(np.float32)).to(dtype).float().numpy()
    np.testing.assert_array_equal(got, right)


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_bools_of_floats(source):
    values = np.array([0.0, -0.0, 1.0, np.nan, np.inf, 1e-7, -2.5] * 100)
    x = flambeau.from_numpy(values).to(getattr(flambeau, source))
    right = (x.abs().double() != 0).numpy()
    np.testing.assert_array_equal(x.to(flambeau.bool).numpy(), right)
    np.testing.assert_array_equal(x[::3].to(flambeau.bool).numpy(), right[::3])
