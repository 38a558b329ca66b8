"""Arithmetic of every bfloat16, beside float32 rounded once; squares and cubes of integers."""

from __future__ import annotations

import pytest

import flambeau

EVERY = flambeau.arange(65536).to(flambeau.int16).view(flambeau.bfloat16)
OTHER = (flambeau.arange(65536) * 40503 + 77).to(flambeau.int16).view(flambeau.bfloat16)
OPERATORS = ("add", "sub", "mul", "div", "maximum", "minimum")


def same(found, wide):
    """Found is float32 rounded, bit for bit; NaN are one number."""
    wanted = wide.to(flambeau.bfloat16)
    assert found.dtype is flambeau.bfloat16 and found.shape == wanted.shape
    plain = ~wanted.isnan()
    assert found.isnan().equal(~plain)
    assert found.view(flambeau.int16)[plain].equal(wanted.view(flambeau.int16)[plain])


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("shift", [0, 1, 255, 32768])
def test_two_of_every_kind(name, shift):
    operator, a, b = getattr(flambeau, name), EVERY, OTHER.roll(shift)
    same(operator(a, b), operator(a.float(), b.float()))
    for n in (1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 79, 80, 81, 129):
        same(operator(a[shift:shift + n], b[3:3 + n]),
             operator(a[shift:shift + n].float(), b[3:3 + n].float()))
    same(operator(a[::3], b[::3]), operator(a[::3].float(), b[::3].float()))


@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_and_rows(name):
    operator, x = getattr(flambeau, name), EVERY
    for number in (0.1, -0.0, float("nan"), float("inf"), 3):
        if name not in ("maximum", "minimum"):
            wide = flambeau.tensor(number, dtype=flambeau.float32)
            same(operator(x, number), operator(x.float(), wide))
            same(operator(x[:77], number), operator(x[:77].float(), wide))
    table, row, column = x.view(256, 256), OTHER[:256], OTHER[300:556, None]
    for each in (row, column, OTHER[5]):
        same(operator(table, each), operator(table.float(), each.float()))
        same(operator(each, table), operator(each.float(), table.float()))


def test_in_place_and_limits():
    x, y = EVERY, OTHER
    same(x.clone().mul_(y), x.float() * y.float())
    z = x.clone()
    same(z.add_(z), x.float() * 2)
    for low, high in ((-1.0, 2.0), (2.0, -1.0), (float("nan"), 1.0), (0.0, float("inf"))):
        same(x.clamp(low, high), x.float().clamp(low, high))
        same(x[:70].clamp(low, high), x[:70].float().clamp(low, high))
    same(x.relu(), x.float().relu())
    same(x.clamp_min(0.1), x.float().clamp_min(0.1))


@pytest.mark.parametrize("weight", [0.3, 0.7, -0.2, 2.0])
def test_sums_of_three(weight):
    x, y = EVERY, OTHER
    for n in (65536, 1, 31, 32, 33, 64, 65, 100):
        a, b = x[:n], y[:n]
        same(flambeau.addcmul(a, a, b, value=weight),
             a.float() + flambeau.tensor(weight, dtype=flambeau.float32) * a.float() * b.float())
        same(flambeau.lerp(a, b, weight), flambeau.lerp(a.float(), b.float(), weight))


@pytest.mark.parametrize("dtype", [flambeau.bfloat16, flambeau.float16])
def test_squares_of_halves(dtype):
    x = EVERY.view(flambeau.int16).view(dtype)
    for exponent in (2, 2.0):
        found, wanted = x ** exponent, (x.float() * x.float()).to(dtype)
        assert found.dtype is dtype and found.nan_to_num(7.0).equal(wanted.nan_to_num(7.0))
        assert (x[::5] ** exponent).nan_to_num(7.0).equal(wanted[::5].nan_to_num(7.0))


@pytest.mark.parametrize("dtype", [flambeau.uint8, flambeau.int8, flambeau.int16, flambeau.int32,
                                   flambeau.int64, flambeau.uint16, flambeau.uint32,
                                   flambeau.uint64])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4])
def test_powers_of_integers(dtype, exponent):
    info = flambeau.iinfo(dtype)
    numbers = [0, 1, 2, 3, 11, 12, 15, 16, 100, info.max, info.max - 1, info.min, info.min + 1]
    bits, least = info.bits, info.min
    wanted = [(n ** exponent - least) % 2**bits + least for n in numbers]
    for repeat in (1, 40, 7000):
        x = flambeau.tensor(numbers, dtype=dtype).repeat(repeat)
        found = x ** exponent
        assert found.dtype is dtype and found.tolist() == wanted * repeat
        assert flambeau.pow(x, flambeau.tensor(exponent, dtype=dtype)).tolist() == wanted * repeat
    assert (flambeau.tensor(numbers, dtype=dtype)[::2] ** exponent).tolist() == wanted[::2]
    assert (flambeau.tensor([], dtype=dtype) ** exponent).tolist() == []
    assert (flambeau.tensor(3, dtype=dtype) ** exponent).item() == 3 ** exponent
    x = flambeau.tensor(numbers, dtype=dtype)
    x **= exponent
    assert x.tolist() == wanted
    wide = flambeau.tensor([1, 2, 3], dtype=dtype) ** float(exponent)
    assert wide.dtype is flambeau.float32 and wide.tolist() == [1.0, 2.0**exponent, 3.0**exponent]


def test_powers_of_bools():
    x = flambeau.tensor([False, True])
    for exponent in (2, 3):
        assert (x ** exponent).tolist() == [0, 1] and (x ** exponent).dtype is flambeau.int64


def test_one_over_every_bfloat16():
    same(EVERY.reciprocal(), 1 / EVERY.float())
    same(EVERY[:77].reciprocal(), 1 / EVERY[:77].float())
    same(EVERY[::3].reciprocal(), 1 / EVERY[::3].float())
    same(EVERY.clone().reciprocal_(), 1 / EVERY.float())
