"""Copies of elements of two bytes, which are moved as they are, in every order of memory."""

from __future__ import annotations

import numpy
import pytest

import flambeau

DTYPES = ("bfloat16", "float16", "int16", "uint16")
#: Bits of every kind of half-precision number: NaN with payloads and subnormal ones as well.
BITS = numpy.arange(65536, dtype="uint16")


def pair(shape, dtype):
    """Elements with all kinds of bits, as NumPy has them and as a tensor of a dtype."""
    count = int(numpy.prod(shape))
    bits = (BITS[:count] * 40503 + 77 if count <= BITS.size
            else numpy.resize(BITS, count)).astype("uint16").reshape(shape)
    return bits, flambeau.tensor(bits).view(getattr(flambeau, dtype))


def bits_of(x):
    return x.contiguous().view(flambeau.uint16).numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ((3, 5), (8, 8), (17, 33), (64, 100), (129, 257)))
def test_transposed(dtype, shape):
    expected, x = pair(shape, dtype)
    numpy.testing.assert_array_equal(bits_of(x.t()), expected.T)
    target = flambeau.empty(shape[::-1], dtype=x.dtype)
    target.copy_(x.t())
    numpy.testing.assert_array_equal(bits_of(target), expected.T)
    target.t().copy_(x)
    numpy.testing.assert_array_equal(bits_of(target), expected.T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_and_broadcast(dtype):
    expected, x = pair((40, 30, 50), dtype)
    for order in ((2, 0, 1), (1, 2, 0), (1, 0, 2), (0, 2, 1), (2, 1, 0)):
        numpy.testing.assert_array_equal(bits_of(x.permute(order)), expected.transpose(order))
    for piece in (numpy.s_[::2, :, ::2], numpy.s_[:, ::3, 1:49], numpy.s_[5, :, ::7],
                  numpy.s_[:, :, 3], numpy.s_[:, 4:9, 2:3]):
        numpy.testing.assert_array_equal(bits_of(x[piece]), expected[piece])
        changed, target = expected.copy(), x.clone()
        changed[piece] = expected[piece] + 1
        target[piece] = flambeau.tensor(expected[piece] + 1).view(x.dtype)
        numpy.testing.assert_array_equal(bits_of(target), changed)
    for source, shape in ((x[:1], (40, 30, 50)), (x[:, :1], (40, 30, 50)),
                          (x[..., :1], (40, 30, 50)), (x[0], (7, 30, 50)),
                          (x[0, :, :1], (9, 30, 70))):
        values = source.contiguous().view(flambeau.uint16).numpy()
        numpy.testing.assert_array_equal(bits_of(source.expand(shape)),
                                         numpy.broadcast_to(values, shape))
    numpy.testing.assert_array_equal(bits_of(x.repeat(2, 1, 3)), numpy.tile(expected, (2, 1, 3)))
    numpy.testing.assert_array_equal(bits_of(flambeau.roll(x, 7, 2)), numpy.roll(expected, 7, 2))


@pytest.mark.parametrize("dtype", ("bfloat16", "float16", "int16"))
@pytest.mark.parametrize("number", (3, -1, 0))
def test_filled(dtype, number):
    whole = flambeau.full((300, 70), number, dtype=getattr(flambeau, dtype))
    assert (whole == number).all()
    part = flambeau.zeros(300, 70, dtype=whole.dtype)
    part[:, ::2] = number
    assert (part[:, ::2] == number).all() and (part[:, 1::2] == 0).all()
    assert flambeau.zeros(0, 3, dtype=whole.dtype).t().contiguous().shape == (3, 0)
