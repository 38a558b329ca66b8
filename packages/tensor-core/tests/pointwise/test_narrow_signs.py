"""Negatives, absolute values and bounds of narrow numbers, beside int64 and float32."""

import pytest

import flambeau

NARROW = [flambeau.uint8, flambeau.int8, flambeau.int16, flambeau.int32]


def numbers(dtype):
    """Many numbers of a dtype, its least and greatest among them."""
    flambeau.manual_seed(0)
    x = flambeau.randint(-(2**31), 2**31 - 1, (999,)).to(dtype)
    info = flambeau.iinfo(dtype)
    return flambeau.cat([x, flambeau.tensor([info.min, info.max, 0, 1], dtype=dtype)])


@pytest.mark.parametrize("dtype", NARROW)
def test_signs_wrap_as_they_do_from_int64(dtype):
    x = numbers(dtype)
    for name in ("neg", "abs"):
        wanted = getattr(x.long(), name)().to(dtype)
        assert getattr(x, name)().equal(wanted)
        assert getattr(x[::3], name)().equal(wanted[::3])
        assert getattr(x.clone(), f"{name}_")().equal(wanted)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("bounds", [(3, 5), (0, 0), (7, 2), (None, 4), (3, None)])
def test_bounds_are_those_of_int64(dtype, bounds):
    x = numbers(dtype)
    wanted = x.long().clamp(*bounds).to(dtype)
    assert x.clamp(*bounds).equal(wanted)
    assert x[1:].clamp(*bounds).equal(wanted[1:])
    assert x[::2].clamp(*bounds).equal(wanted[::2])
    assert x.clone().clamp_(*bounds).equal(wanted)


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16])
def test_relu_of_every_half(dtype):
    x = flambeau.arange(65536).to(flambeau.int16).view(dtype)
    found, wanted = x.relu(), x.float().relu().to(dtype)
    numbers = ~x.isnan()
    assert found.view(flambeau.int16)[numbers].equal(wanted.view(flambeau.int16)[numbers])
    assert found.isnan().equal(x.isnan())
