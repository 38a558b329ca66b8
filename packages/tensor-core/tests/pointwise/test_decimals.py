"""Rounding to decimals, beside its steps one by one."""

from __future__ import annotations

import pytest

import flambeau

NUMBERS = [0.0, -0.0, 0.125, -0.375, 2.5, 12345.678, -0.005, 1e30, -1e-30, float("nan"),
           float("inf"), -float("inf")]


def equal(a, b):
    return a.nan_to_num(7.0, 8.0, 9.0).equal(b.nan_to_num(7.0, 8.0, 9.0)) \
        and (a.signbit() & ~a.isnan()).equal(b.signbit() & ~b.isnan())


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16, flambeau.float32,
                                   flambeau.float64])
@pytest.mark.parametrize("decimals", [-3, -1, 0, 1, 2, 5, 40])
def test_steps(dtype, decimals):
    flambeau.manual_seed(0)
    x = flambeau.cat([flambeau.tensor(NUMBERS), flambeau.randn(1000) * 100]).to(dtype)
    wide, scale = x if dtype is flambeau.float64 else x.float(), 10.0 ** abs(decimals)
    wanted = (wide * scale).round() / scale if decimals > 0 else (wide / scale).round() * scale
    wanted = wanted.to(dtype)
    assert equal(x.round(decimals=decimals), wanted)
    assert x.round(decimals=decimals).dtype is dtype
    assert equal(x[::3].round(decimals=decimals), wanted[::3])
    assert equal(x.clone().round_(decimals=decimals), wanted)
    target = flambeau.empty(0, dtype=dtype)
    assert equal(flambeau.round(x, decimals=decimals, out=target), wanted)
    assert x[:0].round(decimals=decimals).shape == (0,)
    assert equal(x[5].round(decimals=decimals), wanted[5])
