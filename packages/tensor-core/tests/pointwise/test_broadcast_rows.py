"""Operands of few bits that are broadcast or strided, row by row: as the wide kinds have it."""

import itertools

import numpy as np
import pytest

import flambeau

INTEGERS = {"uint8": np.uint8, "int8": np.int8, "int16": np.int16, "int32": np.int32}
HALVES = ("float16", "bfloat16")
OPERATORS = ("add", "sub", "mul", "maximum", "minimum", "bitwise_and", "bitwise_xor", "eq", "lt",
             "ge")
FLOATING = ("add", "sub", "mul", "div", "maximum", "minimum")
#: Shapes of the operands: rows, columns, planes, what stays outside, rows too short for a kernel.
SHAPES = [((5, 40), (40,)), ((5, 40), (5, 1)), ((40,), (5, 40)), ((5, 1), (5, 40)),
          ((3, 4, 33), (4, 1)), ((3, 4, 33), (1, 33)), ((2, 3, 5, 7), (3, 1, 1)), ((4, 8), (8,)),
          ((2, 1, 64), (1, 3, 64)), ((0, 40), (40,)), ((3, 20000), (20000,)), ((70, 1), (1, 70))]


def drawn(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    if dtype in INTEGERS:
        info = np.iinfo(INTEGERS[dtype])
        return flambeau.from_numpy(rng.integers(info.min, info.max, shape, INTEGERS[dtype]))
    values = rng.standard_normal(shape).astype(np.float32)
    values.reshape(-1)[::7] = [np.nan, np.inf, -np.inf, 0.0, -0.0][seed % 5]
    return flambeau.from_numpy(values).to(getattr(flambeau, dtype))


def expected(name, x, y, dtype):
    """By float32 or int64, rounded or wrapped once."""
    wide = flambeau.float32 if dtype in HALVES else flambeau.int64
    result = getattr(flambeau, name)(x.to(wide).contiguous(), y.to(wide).contiguous())
    return result if result.dtype == flambeau.bool else result.to(getattr(flambeau, dtype))


def same(one, other):
    assert one.dtype == other.dtype and one.shape == other.shape
    if one.is_floating_point():
        one, other = one.float(), other.float()
    np.testing.assert_array_equal(one.numpy(), other.numpy())


CASES = [*itertools.product(INTEGERS, OPERATORS), *itertools.product(HALVES, FLOATING)]


@pytest.mark.parametrize(("dtype", "name"), CASES)
def test_broadcast_operands(dtype, name):
    for number, (a, b) in enumerate(SHAPES):
        x, y = drawn(dtype, a, number), drawn(dtype, b, number + 1)
        same(getattr(flambeau, name)(x, y), expected(name, x, y, dtype))


@pytest.mark.parametrize("dtype", [*INTEGERS, *HALVES])
def test_strided_operands_and_results(dtype):
    base = drawn(dtype, (6, 90), 0)
    row = drawn(dtype, (40,), 1)
    for x in (base[:, 3:43], base[::2, 50:], base[:, ::2][:, :40], base.t()[:40].t(),
              base[1:2, :40], base.view(6, 1, 90)[:, :, :40].expand(6, 4, 40)):
        same(x + row, expected("add", x, row, dtype))
        same(x - x, expected("sub", x, x, dtype))
    turned = drawn(dtype, (40, 6), 2)
    same(base[:, :40] + turned.t(), expected("add", base[:, :40], turned.t(), dtype))
    column = drawn(dtype, (1, 6), 3)
    same(turned * column, expected("mul", turned, column, dtype))
    same(turned.t() * column.t(), expected("mul", turned.t(), column.t(), dtype))


@pytest.mark.parametrize("dtype", [*INTEGERS, *HALVES])
def test_in_place_and_out(dtype):
    x, row = drawn(dtype, (7, 64), 0), drawn(dtype, (64,), 1)
    right = expected("add", x, row, dtype)
    target = flambeau.zeros(7, 70, dtype=x.dtype)
    flambeau.add(x, row, out=target[:, 3:67])
    same(target[:, 3:67], right)
    assert not target[:, :3].any() and not target[:, 67:].any()
    written = target[:, 3:67]
    written += row
    same(written, expected("add", right, row, dtype))
    mine = x.clone()
    mine += row
    same(mine, right)


@pytest.mark.parametrize("dtype", HALVES)
def test_numbers_beside_strided_halves_are_not_rounded(dtype):
    x = drawn(dtype, (6, 90), 4)[:, 1:50]
    third = 1 / 3
    wide = (x.float() * np.float32(third)).to(x.dtype)
    same(x * third, wide)
    same(third * x, wide)
