"""addcmul of narrow integers, which wraps, against int64."""

import numpy as np
import pytest

import flambeau

DTYPES = ("uint8", "int8", "int16", "int32")


def numbers(dtype, *shape, seed=0):
    limits = np.iinfo(dtype)
    made = np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape)
    return made.astype(dtype)


def wanted(x, a, b, value):
    wide = x.astype("int64") + value * a.astype("int64") * b.astype("int64")
    return wide.astype(x.dtype)


def check(x, a, b, value=1):
    given = flambeau.addcmul(*map(flambeau.from_numpy, (x, a, b)), value=value)
    assert str(given.dtype) == f"flambeau.{x.dtype}"
    np.testing.assert_array_equal(given.numpy(), wanted(x, a, b, value))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [1, 0, -1, 3, 127, 1000000007])
def test_every_length(dtype, value):
    for n in (*range(1, 70), 2047, 2048, 2049, 5000, 200_001):
        check(*(numbers(dtype, n, seed=k) for k in range(3)), value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts(dtype):
    x, a, b = (numbers(dtype, 40, 60, seed=k) for k in range(3))
    check(x, a, b)
    check(x, a[:1], b)
    check(x, a, b[:, :1], 2)
    check(x[:, ::2], a[:, ::2], b[:, 1::2], 2)
    check(x.T, a.T, b.T, 5)
    check(x, numbers(dtype), b)
    check(numbers(dtype), numbers(dtype), numbers(dtype))
    check(x[:0], a[:0], b[:0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_operands_that_are_the_result(dtype):
    x, a, b = (numbers(dtype, 5000, seed=k) for k in range(3))
    for operands in ("xab", "xxb", "xax", "xxx"):
        given = dict(zip("xab", map(flambeau.from_numpy, (x.copy(), a, b)), strict=True))
        target = given["x"]
        target.addcmul_(*(given[name] for name in operands[1:]), value=3)
        by_name = {"x": x, "a": a, "b": b}
        np.testing.assert_array_equal(target.numpy(), wanted(*(by_name[name] for name in operands),
                                                             3))


@pytest.mark.parametrize("value", [2.5, True])
def test_factors_of_other_kinds(value):
    x = flambeau.ones(3, dtype=flambeau.int32)
    one = flambeau.ones(3, dtype=flambeau.int64)
    assert _result(x, value) == _result(one, value)


def _result(x, value):
    try:
        return flambeau.addcmul(x, x, x, value=value).tolist()
    except (RuntimeError, TypeError, ValueError) as error:
        return str(error).replace("int32", "int64")
