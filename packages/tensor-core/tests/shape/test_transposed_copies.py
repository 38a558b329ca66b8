"""Copies of matrices in the other order of memory, strip by strip, beside NumPy's."""

from __future__ import annotations

import numpy
import pytest

import flambeau

#: A dtype for every size of elements, as tensors and NumPy have it; bits that are NaN among them.
SIZES = {1: "uint8", 2: "int16", 4: "float32", 8: "float64", 16: "complex128"}
#: Strips that end with part of a line, rows that end with part of a block, rows of whole pages.
SHAPES = ((16, 16), (17, 33), (64, 100), (129, 257), (1024, 24), (20, 1024), (5, 4000), (9000, 19))


def array(shape, size):
    bits = numpy.random.default_rng(0).integers(0, 256, (*shape, size), dtype="uint8")
    return bits.view(SIZES[size])[..., 0]


def same_bits(found, wanted):
    wanted = numpy.ascontiguousarray(wanted)
    assert found.is_contiguous() and tuple(found.shape) == wanted.shape
    numpy.testing.assert_array_equal(found.numpy().view("uint8"), wanted.view("uint8"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_matrix(size, shape):
    x = array(shape, size)
    t = flambeau.from_numpy(x)
    same_bits(t.t().contiguous(), x.T)
    same_bits(t[1:, 2:].t().contiguous(), x[1:, 2:].T)
    same_bits(t.flip(0)[::2].t().contiguous(), x[::-1][::2].T)
    wide = flambeau.zeros(shape[1], shape[0] + 3, dtype=t.dtype)
    wide[:, 1:-2] = t.t()
    same_bits(wide[:, 1:-2].contiguous(), x.T)
    assert not wide[:, 0].any() and not wide[:, -2:].any()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("order", ((0, 2, 3, 1), (0, 3, 1, 2), (3, 0, 2, 1), (2, 1, 0, 3),
                                   (1, 3, 0, 2), (3, 2, 1, 0), (1, 0, 3, 2)))
def test_planes(size, order):
    for shape in ((2, 35, 9, 18), (19, 3, 20, 17), (1, 40, 1, 33)):
        x = array(shape, size)
        same_bits(flambeau.from_numpy(x).permute(order).contiguous(), x.transpose(order))


@pytest.mark.parametrize("size", SIZES)
def test_expanded_rows_and_threads(size):
    x = array((300, 70), size)
    t = flambeau.from_numpy(x)
    same_bits(t.t()[:, None].expand(70, 3, 300).contiguous(),
              numpy.broadcast_to(x.T[:, None], (70, 3, 300)))
    threads = flambeau.get_num_threads()
    try:
        for count in (1, 2):
            flambeau.set_num_threads(count)
            same_bits(t.t().contiguous(), x.T)
    finally:
        flambeau.set_num_threads(threads)


def test_nothing_and_numbers():
    assert flambeau.empty(0, 40).t().contiguous().shape == (40, 0)
    assert flambeau.empty(40, 0).t().contiguous().shape == (0, 40)
    assert flambeau.tensor(3.0).t().contiguous().item() == 3.0
