"""Operators of one narrow number, bounds and shifts, beside int64 and float32."""

import pytest

import flambeau

NARROW = [flambeau.uint8, flambeau.int8, flambeau.int16, flambeau.int32]


def numbers(dtype):
    """Many numbers of a dtype, its least and greatest among them."""
    flambeau.manual_seed(0)
    x = flambeau.randint(-(2**31), 2**31 - 1, (999,)).to(dtype)
    info = flambeau.iinfo(dtype)
    return flambeau.cat([x, flambeau.tensor([info.min, info.max, 0, 1], dtype=dtype)])


KEEP = "neg abs sign sgn relu square bitwise_not floor ceil trunc round".split()
ASK = "logical_not signbit isnan isinf isfinite".split()


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", KEEP + ASK)
def test_results_are_those_of_int64(dtype, name):
    x = numbers(dtype)
    wanted = getattr(x.long(), name)()
    wanted = wanted if name in ASK else wanted.to(dtype)
    assert getattr(x, name)().equal(wanted)
    assert getattr(x[::3], name)().equal(wanted[::3])
    assert getattr(x[:0], name)().equal(wanted[:0])
    assert getattr(x[1:, None].expand(-1, 3), name)()[:, 2].equal(wanted[1:])
    if name in KEEP:
        assert getattr(x.clone(), f"{name}_")().equal(wanted)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
def test_shifts_are_those_of_int64(dtype, name):
    shift = getattr(flambeau, name)
    x = numbers(dtype)
    for count in (-128, -3, -1, 0, 1, 6, 7, 8, 9, 15, 16, 17, 30, 31, 32, 33, 63, 64, 127, 2000):
        assert shift(x, count).equal(shift(x.long(), count).to(dtype)), count
    counts = flambeau.randint(0 if dtype is flambeau.uint8 else -70, 70, x.shape)
    assert shift(x, counts.to(dtype)).equal(shift(x.long(), counts).to(dtype))
    assert shift(3, x).equal(shift(3, x.long()).to(dtype))


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
