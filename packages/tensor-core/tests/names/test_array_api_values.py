"""What the functions of flambeau.array_api compute where the standard asks beyond PyTorch."""

from __future__ import annotations

import math

import numpy
import pytest

import flambeau
from flambeau import array_api as xp


def _same(x, expected):
    numpy.testing.assert_array_equal(x.numpy(), expected, strict=True)


def test_an_empty_tuple_of_axes_reduces_nothing():
    x = numpy.arange(6, dtype="int16").reshape(2, 3)
    _same(xp.sum(flambeau.from_numpy(x), axis=()), numpy.sum(x, axis=()))
    _same(xp.max(flambeau.from_numpy(x), axis=()), x)
    _same(xp.any(flambeau.from_numpy(x), axis=()), x != 0)


def test_sums_of_unsigned_integers_are_unsigned():
    x = numpy.full(300, 255, "uint8")
    _same(xp.sum(flambeau.from_numpy(x)), numpy.sum(x))
    assert xp.prod(flambeau.from_numpy(x), axis=(0,)).dtype is xp.uint64
    _same(xp.cumulative_sum(flambeau.from_numpy(x[:2]), include_initial=True),
          numpy.array([0, 255, 510], "uint64"))


def test_prod_of_several_axes():
    x = numpy.random.default_rng(2).normal(size=(2, 3, 4))
    given = xp.prod(flambeau.from_numpy(x), axis=(0, -1), keepdims=True)
    numpy.testing.assert_allclose(given.numpy(), x.prod(axis=(0, -1), keepdims=True), rtol=1e-13)


def test_special_values():
    inf, nan = xp.inf, xp.nan
    x = xp.asarray([inf, -inf, 1.0, -1.0, nan])
    _same(xp.sign(x), numpy.sign(x.numpy()))
    _same(xp.floor_divide(x, 2.0), numpy.float32([inf, -inf, 0, -1, nan]))
    assert xp.signbit(xp.floor_divide(x, -inf)[2])
    remainders = xp.remainder(xp.asarray([-0.0, 0.0]), xp.asarray([1.0, -1.0]))
    assert xp.signbit(remainders).tolist() == [False, True]


def test_rounding_keeps_integers_and_rounds_both_parts():
    assert xp.floor(xp.asarray([3], dtype=xp.uint8)).dtype is xp.uint8
    _same(xp.round(xp.asarray([1.5 - 2.5j])), numpy.complex64([2 - 2j]))


def test_sets_keep_every_nan_and_order_complex_numbers():
    z = numpy.array([1 + 1j, 2, 1 + 1j, 1 - 1j, numpy.nan, numpy.nan])
    given = xp.unique_all(flambeau.from_numpy(z))
    assert given.counts.tolist() == [1, 2, 1, 1, 1]
    assert given.indices.tolist() == [3, 0, 1, 4, 5]
    _same(given.values[given.inverse_indices], z)
    assert xp.isin(xp.asarray([1, 2]), 2, invert=True).tolist() == [True, False]


def test_positions_from_the_end():
    x = flambeau.arange(6).reshape(2, 3)
    assert xp.take(x, xp.asarray([-1, 0], dtype=xp.int8), axis=1).tolist() == [[2, 0], [5, 3]]
    assert xp.take_along_axis(x, xp.asarray([[-1], [0]])).tolist() == [[2], [3]]


@pytest.mark.parametrize("side", ("left", "right"))
def test_searching_in_large_unsigned_integers(side):
    ordered = numpy.array([0, 5, 2**63, 2**64 - 1], "uint64")
    wanted = numpy.array([0, 6, 2**63, 2**64 - 1], "uint64")
    positions = xp.searchsorted(flambeau.from_numpy(ordered), flambeau.from_numpy(wanted),
                                side=side)
    _same(positions, numpy.searchsorted(ordered, wanted, side))
    x = flambeau.from_numpy(ordered)
    assert flambeau.searchsorted(x, -1, side=side) == 0
    assert flambeau.searchsorted(x, 7, side=side) == 2
    many = flambeau.from_numpy(numpy.arange(2**63 - 9, 2**63 + 9, dtype="uint64"))
    assert flambeau.isin(x, many).tolist() == [False, False, True, False]


def test_shapes():
    x = xp.ones((2, 3))
    assert xp.expand_dims(x, (0, -1)).shape == (1, 2, 3, 1)
    assert xp.roll(flambeau.arange(4), (1,), axis=(0,)).tolist() == [3, 0, 1, 2]
    assert xp.repeat(xp.asarray([1, 2]), xp.asarray([0, 2], dtype=xp.uint8)).tolist() == [2, 2]
    with pytest.raises(ValueError, match="not all of size 1"):
        xp.squeeze(x, 0)
    with pytest.raises(ValueError, match="cannot be broadcast"):
        xp.broadcast_shapes((2,), (3,))


@pytest.mark.parametrize("index", (
    numpy.s_[::-1], numpy.s_[..., ::-2], numpy.s_[1, :, ::-1], numpy.s_[::-1, None, 2:0:-1, 1:],
    numpy.s_[0:2:-1], numpy.s_[-1::-2, ..., 3::-3]))
def test_writing_with_negative_steps(index):
    array = numpy.zeros((3, 4, 5))
    x = flambeau.from_numpy(array.copy())
    values = numpy.arange(array[index].size, dtype="float64").reshape(array[index].shape)
    for part in (values, values[..., :1], values[:1], 7.0):
        array[index] = part
        x[index] = part if isinstance(part, float) else flambeau.from_numpy(part.copy())
        _same(x, array)


@pytest.mark.parametrize("index", (
    numpy.s_[::-1], numpy.s_[..., ::-2], numpy.s_[1, :, ::-1], numpy.s_[::-1, None, 2:0:-1, 1:],
    numpy.s_[0:2:-1], numpy.s_[-1::-2, ..., 3::-3]))
def test_reading_with_negative_steps_under_the_standards_rule(index, standard_operators):
    array = numpy.arange(60.0).reshape(3, 4, 5)
    _same(flambeau.from_numpy(array)[index], array[index])


def test_reading_with_negative_steps_is_refused():
    with pytest.raises(ValueError, match=r"reverse with x.flip\(1\)"):
        flambeau.zeros(2, 3)[:, ::-1]
    with pytest.raises(ValueError, match="step must be greater than zero"):
        flambeau.zeros(2, 3)[flambeau.tensor([0]), ::-1] = 1.0


def test_masks_of_size_zero_select_nothing():
    x = flambeau.ones(2, 3)
    mask = flambeau.zeros((2, 0), dtype=flambeau.bool)
    assert x[mask].shape == (0,) and x[mask[0]].shape == (0, 3) and x[:, mask[0]].shape == (2, 0)
    x[mask] = 5.0
    assert x.tolist() == [[1.0] * 3] * 2


def test_the_greatest_float_may_be_rounded_to():
    assert flambeau.full((2,), 3.402823466385289e38).isfinite().all()
    assert flambeau.full((2,), 3.402823466385289e38 + 0j).isfinite().all()
    assert xp.full((2, 1), 1e39 - 1j).tolist() == [[complex(xp.inf, -1)]] * 2
    with pytest.raises(RuntimeError, match="does not fit float32"):
        xp.full((), 3.5e38, dtype=xp.float32)


def test_products():
    rng = numpy.random.default_rng(3)
    a, b = rng.normal(size=(2, 2, 2)), rng.normal(size=(2, 2))
    one, other = flambeau.from_numpy(a), flambeau.from_numpy(b)
    numpy.testing.assert_allclose(xp.linalg.solve(one, other).numpy(), numpy.linalg.solve(a, b))
    whole = flambeau.arange(6, dtype=flambeau.int16).reshape(2, 3)
    _same(xp.vecdot(whole, whole), numpy.einsum("ij,ij->i", whole.numpy(), whole.numpy()))
    with pytest.raises(ValueError, match="not of one length"):
        xp.vecdot(one, xp.ones((1,), dtype=xp.float64))
    assert xp.linalg.trace(one, offset=1).shape == (2,)
    assert xp.linalg.vector_norm(one, axis=()).shape == a.shape


def test_transforms():
    x = numpy.random.default_rng(4).normal(size=(4, 6))
    given = xp.fft.rfftn(flambeau.from_numpy(x), axes=(1, 0), norm="ortho")
    numpy.testing.assert_allclose(given.numpy(), numpy.fft.rfftn(x, axes=(1, 0), norm="ortho"),
                                  atol=1e-12)
    assert xp.fft.fftfreq(4, d=0.5, dtype=xp.float64).tolist() == numpy.fft.fftfreq(4, 0.5).tolist()


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_operators_divide_by_the_standard(standard_operators, dtype):
    inf = math.inf
    x = flambeau.tensor([inf, -inf, 2.0, -2.0], dtype=getattr(flambeau, dtype))
    y = flambeau.tensor([2.0, 2.0, -inf, inf], dtype=x.dtype)
    _same(x // y, numpy.array([inf, -inf, -0.0, -0.0], dtype))
    assert numpy.signbit((x // y).numpy()).tolist() == [False, True, True, True]
    assert (x // 3).tolist() == [inf, -inf, 0, -1]
    assert (3 // y).tolist() == [1, 1, -0.0, 0]
    zero = flambeau.tensor([0.0, -0.0], dtype=x.dtype)
    remainders = zero % flambeau.tensor([-2.0, 2.0], dtype=x.dtype)
    assert numpy.signbit(remainders.numpy()).tolist() == [True, False]
    assert numpy.signbit((zero % 2).numpy()).tolist() == [False, False]


def test_operators_divide_in_place_by_the_standard(standard_operators):
    x = flambeau.tensor([math.inf, 5.0])
    view = x[:1]
    same = x
    same //= 2
    assert same is x and x.tolist() == [math.inf, 2.0] and view.tolist() == [math.inf]
    same %= -2
    assert same is x and numpy.signbit(x.numpy())[1]
    with pytest.raises(RuntimeError, match="can't be cast"):
        whole = flambeau.tensor([5])
        whole //= flambeau.tensor([2.0])
    whole //= 2
    assert whole.tolist() == [2] and (whole % 2).dtype is flambeau.int64


def test_operators_divide_as_pytorch_does_by_default():
    x = flambeau.tensor([math.inf, -2.0])
    assert str((x // flambeau.tensor([2.0, math.inf])).tolist()) == "[nan, -1.0]"


@pytest.mark.parametrize("dtype", ("complex64", "complex128"))
def test_tanh_at_infinity_has_the_sign_of_the_imaginary_part(dtype):
    inf = math.inf
    x = xp.asarray([complex(inf, 2), complex(inf, -2), complex(-inf, 2), complex(inf, inf), 1 + 2j],
                   dtype=getattr(xp, dtype))
    got = xp.tanh(x).numpy()
    assert got.dtype == dtype
    assert got[:4].tolist() == [1, 1, -1, 1]
    assert numpy.signbit(got.imag[:3]).tolist() == [False, True, False]
    numpy.testing.assert_allclose(got[4], numpy.tanh(1 + 2j), rtol=1e-6)
    assert xp.tanh(xp.asarray([-inf, 0.0])).tolist() == [-1.0, 0.0]
