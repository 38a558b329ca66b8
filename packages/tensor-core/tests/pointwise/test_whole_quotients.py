"""Quotients and rests of integers, relu of integers, and floats that become whole."""

import numpy as np
import pytest

import flambeau

DTYPES = [np.int64, np.int32, np.int16, np.int8, np.uint8]


def extremes(dtype):
    """Numbers at the ends, around powers of two and around multiples of the divisors."""
    limits = np.iinfo(dtype)
    near = [sign * 2**p + d for p in range(64) for d in (-1, 0, 1) for sign in (1, -1)]
    near += [m * d + e for m in (3, 7, 10, 641) for d in (-999, 13, 2**40 + 1) for e in (-1, 0, 1)]
    near += [limits.min, limits.min + 1, limits.max, limits.max - 1]
    return [x for x in near if limits.min <= x <= limits.max]


def wrapped(numbers, dtype):
    return np.array([x % 2**64 for x in numbers], np.uint64).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("repeat", [1, 9])
def test_quotients_round_down_exactly(dtype, repeat):
    numbers = extremes(dtype) * repeat
    x = flambeau.tensor(np.array(numbers, dtype))
    for divisor in [d for d in extremes(dtype) if d]:
        wanted = wrapped([n // divisor for n in numbers], dtype)
        np.testing.assert_array_equal((x // divisor).numpy(), wanted, str(divisor))


def truncated(n, d):
    return abs(n) // abs(d) * (1 if (n < 0) == (d < 0) else -1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_and_rests_of_all_pairs(dtype):
    numbers = extremes(dtype)
    divisors = [d for d in numbers if d]
    column = flambeau.tensor(np.array(numbers, dtype)).unsqueeze(1)
    row = flambeau.tensor(np.array(divisors, dtype))
    pairs = [(n, d) for n in numbers for d in divisors]
    left, right = (flambeau.tensor(np.array(side, dtype)) for side in zip(*pairs, strict=True))
    for call, of in (
        (flambeau.floor_divide, lambda n, d: n // d),
        (flambeau.remainder, lambda n, d: n % d),
        (flambeau.fmod, lambda n, d: n - truncated(n, d) * d),
    ):
        wanted = wrapped([of(n, d) for n, d in pairs], dtype)
        np.testing.assert_array_equal(call(left, right).numpy(), wanted)
        np.testing.assert_array_equal(call(column, row).numpy().ravel(), wanted)
        np.testing.assert_array_equal(call(left[::3], right[::3]).numpy(), wanted[::3])
        for d in divisors[::9]:
            wanted = wrapped([of(n, d) for n in numbers], dtype)
            np.testing.assert_array_equal(call(column[:, 0], d).numpy(), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_logical_operators_of_whole_numbers(dtype):
    left, right = np.random.default_rng(0).integers(0, 3, (2, 5, 70)).astype(dtype)
    for name in ("logical_and", "logical_or", "logical_xor"):
        call, wanted = getattr(flambeau, name), getattr(np, name)
        one, other = flambeau.tensor(left), flambeau.tensor(right)
        assert call(one, other).dtype is flambeau.bool
        np.testing.assert_array_equal(call(one, other).numpy(), wanted(left, right))
        np.testing.assert_array_equal(call(one, other[0]).numpy(), wanted(left, right[0]))
        np.testing.assert_array_equal(call(one.t(), other.t()).numpy(), wanted(left, right).T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_of_small_and_of_strided_numbers(dtype):
    numbers = np.arange(-4000, 4000).astype(dtype).reshape(80, 100)
    x = flambeau.tensor(numbers)
    for divisor in (1, 3, 7, 100):
        np.testing.assert_array_equal((x // divisor).numpy(), numbers // divisor)
        np.testing.assert_array_equal((x.t() // divisor).numpy(), numbers.T // divisor)
        np.testing.assert_array_equal((x[:, ::3] // divisor).numpy(), numbers[:, ::3] // divisor)
        np.testing.assert_array_equal(x.clone().floor_divide_(divisor).numpy(), numbers // divisor)
    assert (x[:0] // 3).shape == (0, 100)


@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_by_zero_are_refused(dtype):
    with pytest.raises((RuntimeError, ZeroDivisionError), match="is 0"):
        flambeau.tensor(np.arange(40).astype(dtype)) // 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_relu_of_whole_numbers(dtype):
    numbers = np.array(extremes(dtype) * 4, dtype)
    given = flambeau.relu(flambeau.tensor(numbers))
    assert given.dtype is flambeau.tensor(numbers).dtype
    np.testing.assert_array_equal(given.numpy(), np.maximum(numbers, 0))
    x = flambeau.tensor(numbers)[::2]
    np.testing.assert_array_equal(flambeau.relu_(x).numpy(), np.maximum(numbers[::2], 0))


@pytest.mark.parametrize("source", [np.float32, np.float16])
@pytest.mark.parametrize("dtype", [*DTYPES, np.uint64, np.uint32, np.uint16])
@pytest.mark.parametrize("repeat", [1, 20])
def test_floats_become_whole_as_the_doubles_they_are(source, dtype, repeat):
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, -1.5, 255.9, 256.0, 300.0, -129.0]
    large = [sign * 2.0**p * f for p in range(70) for f in (1, 1.25, 0.9999999) for sign in (1, -1)]
    with np.errstate(over="ignore"):
        numbers = np.array((special + large) * repeat).astype(source)
    x = flambeau.tensor(numbers)
    wanted = getattr(flambeau, np.dtype(dtype).name)
    np.testing.assert_array_equal(x.to(wanted).numpy(), x.double().to(wanted).numpy())
    np.testing.assert_array_equal(x[::2].to(wanted).numpy(), x.double()[::2].to(wanted).numpy())
