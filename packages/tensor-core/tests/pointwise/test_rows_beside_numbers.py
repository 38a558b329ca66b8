"""Rows beside a number of their own, limits between two numbers, and signs of half precision."""

from __future__ import annotations

import numpy
import pytest

import flambeau

DTYPES = (flambeau.float32, flambeau.float64, flambeau.bfloat16, flambeau.int64)
OPERATORS = ("add", "sub", "mul", "div", "maximum", "minimum")
SPECIAL = (0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1.5, -3.0, 1e-300)


def bits(x):
    """NaN are one number, zeros two."""
    x = x.double()
    return x.isnan(), x.nan_to_num(7.0, 8.0, 9.0), x.signbit() & ~x.isnan()


def same(found, wanted):
    assert found.dtype is wanted.dtype and found.shape == wanted.shape
    assert all(a.equal(b) for a, b in zip(bits(found), bits(wanted), strict=True))


def numbers(shape, dtype, seed=0):
    x = flambeau.tensor(numpy.random.default_rng(seed).standard_normal(shape) * 5)
    if dtype is not flambeau.int64:
        flat = x.view(-1)
        flat[::7] = flambeau.tensor(SPECIAL)[flambeau.arange(flat[::7].numel()) % len(SPECIAL)]
    return x.to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_number_for_every_row(dtype, name):
    operator = getattr(flambeau, name)
    x = numbers((6, 5, 300), dtype)
    if name == "div" and dtype is flambeau.int64:
        x = x.abs() + 1
    for each in (x[:, :, :1], x[:, :1, :1], x[:1, :, 7:8], x[0, 0, :1]):
        spread = each.expand(6, 5, 300).contiguous()
        same(operator(x, each), operator(x, spread))
        same(operator(each, x), operator(spread, x))
    cut, each = x[1:, ::2, 3:290], x[1:, ::2, :1]
    same(operator(cut, each), operator(cut.contiguous(), each.expand(cut.shape).contiguous()))
    turned = x.transpose(0, 1)
    same(operator(turned, turned[:, :, 5:6]),
         operator(turned.contiguous(), turned[:, :, 5:6].expand(turned.shape).contiguous()))
    if name == "add":
        same(x.clone().add_(x[:, :, 2:3]), x + x[:, :, 2:3])
        same(flambeau.add(x, x[:, :, 2:3], alpha=2), x + x[:, :, 2:3] * 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bounds", [(-1, 2), (2, -1), (0, 0), (-2.5, 2.5), (float("nan"), 2.0),
                                    (-1.0, float("nan")), (0.0, float("inf")), (-0.0, 0.0)])
def test_limits_between_numbers(dtype, bounds):
    if dtype is flambeau.int64 and any(isinstance(bound, float) for bound in bounds):
        bounds = (-3, 1)
    for count in (0, 1, 17, 40_000, 70_001):
        x = numbers((count,), dtype)
        low, high = (flambeau.full((count,), bound, dtype=dtype) for bound in bounds)
        wanted = flambeau.clamp(x, low, high)
        same(x.clamp(*bounds), wanted)
        same(x.clone().clamp_(*bounds), wanted)
        same(x[::2].clamp(*bounds), wanted[::2])
    assert flambeau.tensor(5.0).clamp(0, 2).item() == 2.0


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_any_number_and_threads(threads):
    before = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(threads)
        for shape in ((1000, 129), (3, 50_000), (1, 200_001), (70, 3, 400)):
            x = numbers(shape, flambeau.float32)
            same(x * x[..., :1], x * x[..., :1].expand(shape).contiguous())
    finally:
        flambeau.set_num_threads(before)


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16])
def test_signs_of_every_half(dtype):
    x = flambeau.arange(65536).to(flambeau.int16).view(dtype)
    other = x.flip(0)

    def expect(found, size, sign):
        size, sign = flambeau.broadcast_tensors(size, sign)
        wanted = (size.contiguous().view(flambeau.int16) & 0x7fff) \
            | (sign.contiguous().view(flambeau.int16) & -0x8000)
        plain = ~size.isnan()       # the sign of NaN is nobody's
        assert found.dtype is dtype and found.isnan().equal(~plain)
        assert found.view(flambeau.int16)[plain].equal(wanted[plain])

    expect(flambeau.copysign(x, other), x, other)
    expect(flambeau.copysign(x[:9], other[:9]), x[:9], other[:9])
    expect(flambeau.copysign(x[1:], other[:-1]), x[1:], other[:-1])
    expect(flambeau.copysign(x[::2], other[::2]), x[::2], other[::2])
    rows, columns = x.view(256, 256), other.view(256, 256)[:, :1]
    expect(flambeau.copysign(rows, columns), rows, columns)
    expect(flambeau.copysign(columns, rows), columns, rows)
    expect(flambeau.copysign(rows, columns[0]), rows, columns[0])
    expect(x.clone().copysign_(other), x, other)
    for number in (1.0, -1.0, 0.0, -0.0, -float("inf"), -3, True):
        sign = flambeau.tensor(float(number)).to(dtype)
        expect(flambeau.copysign(x, number), x, sign)
        expect(flambeau.copysign(x, sign), x, sign)
    assert flambeau.copysign(x[:0], other[:0]).shape == (0,)
