"""Extremes with NaN anywhere in a row, sums of bfloat16 beside those of the widened elements."""

from __future__ import annotations

import numpy
import pytest

import flambeau

LENGTHS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 130, 200, 1000, 4097, 70_001)
DTYPES = (flambeau.float32, flambeau.float64, flambeau.bfloat16, flambeau.float16)


def numbers(*shape):
    return flambeau.tensor(numpy.random.default_rng(0).standard_normal(shape) * 10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_extremes_of_rows(dtype, n):
    x = numbers(3, n).to(dtype)
    plain = x.double().numpy()
    high, low = flambeau.tensor(plain.max(-1)), flambeau.tensor(plain.min(-1))
    assert x.amax(-1).double().equal(high) and x.amin(-1).double().equal(low)
    assert x.amax().item() == high.max().item() and x.amin().item() == low.min().item()
    for at in {0, n // 2, n - 1, max(0, n - 9), min(n - 1, 70)}:
        for odd in (float("nan"), float("inf"), -float("inf")):
            y = x.clone()
            y[1, at] = odd
            found = flambeau.stack([y.amax(-1), y.amin(-1)]).double()
            wanted = numpy.stack([y.double().numpy().max(-1), y.double().numpy().min(-1)])
            numpy.testing.assert_array_equal(found.numpy(), wanted)
            numpy.testing.assert_array_equal(y.amax().item(), wanted[0].max())
            numpy.testing.assert_array_equal(y.amin().item(), wanted[1].min())
    nothing = flambeau.full((2, n), -float("inf"), dtype=dtype)
    assert nothing.amax(-1).equal(nothing[:, 0]) and (-nothing).amin(-1).equal(-nothing[:, 0])


@pytest.mark.parametrize("n", LENGTHS)
def test_sums_of_bfloat16(n):
    x = numbers(5, n).bfloat16()
    for y in (x, x[:, n // 3:], x[::2], x[0], x.flip(0)):
        wide = y.float()
        assert y.sum().equal(wide.sum().bfloat16())
        assert y.sum(-1).equal(wide.sum(-1).bfloat16())
        assert y.sum(-1, dtype=flambeau.float32).equal(wide.sum(-1))
        assert y.mean(-1).equal(wide.mean(-1).bfloat16())
    x[1, n // 2] = float("nan")
    x[2, 0] = float("inf")
    x[3, -1] = -float("inf")
    found = x.sum(-1)
    assert found[1].isnan() and found[2].item() == float("inf")
    assert found[3].item() == -float("inf") and found[0].isfinite()


@pytest.mark.parametrize("n", (300, 70_001))
def test_sums_of_bfloat16_on_threads(n):
    x, before, found = numbers(20, n).bfloat16(), flambeau.get_num_threads(), []
    try:
        for threads in (1, 2):
            flambeau.set_num_threads(threads)
            found.append((x.sum(), x.sum(-1), x.amax(), x.amin(-1)))
    finally:
        flambeau.set_num_threads(before)
    assert all(a.equal(b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("n", LENGTHS)
def test_positions_of_integers_whose_bits_are_nan(n):
    bits = numpy.array([0x7FF8 << 48, -1, 0x7FF0_0000_0000_0001, -(2**50), 5, 0])
    x = numpy.resize(bits, (3, n))
    x[1] = x[1][::-1]
    t = flambeau.tensor(x)
    assert t.argmax(-1).tolist() == x.argmax(-1).tolist()
    assert t.argmin(-1).tolist() == x.argmin(-1).tolist()
    assert t.amax(-1).tolist() == x.max(-1).tolist()
