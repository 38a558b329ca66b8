"""Results too large for the caches, which are streamed to memory piece by piece."""

import numpy
import pytest

import flambeau

#: Three arrays of it fill the caches of most machines; the last piece is not a whole one.
ELEMENTS = (6 << 20) + 13


@pytest.fixture(scope="module")
def operands():
    rng = numpy.random.default_rng(0)
    return rng.standard_normal(ELEMENTS, dtype=numpy.float32), rng.random(ELEMENTS,
                                                                          dtype=numpy.float32)


def same(result, expected):
    __tracebackhide__ = True
    numpy.testing.assert_array_equal(result.numpy(), expected)


def test_contiguous_operands_and_numbers(operands):
    a, b = operands
    x, y = flambeau.from_numpy(a), flambeau.from_numpy(b)
    same(x + y, a + b)
    same(flambeau.where(x > y, x, y), numpy.maximum(a, b))
    same(2.0 - x.double(), 2.0 - a.astype(numpy.float64))
    same(x.clone(), a)


def test_results_that_start_between_lines(operands):
    a, b = operands
    room = flambeau.full((ELEMENTS + 2,), 7.0)
    flambeau.add(flambeau.from_numpy(a), flambeau.from_numpy(b), out=room[1:-1])
    same(room[1:-1], a + b)
    assert (room[0].item(), room[-1].item()) == (7.0, 7.0)


def test_operands_that_are_overwritten(operands):
    a, b = operands
    x = flambeau.from_numpy(a.copy())
    x.add_(flambeau.from_numpy(b)).mul_(0.5)
    same(x, (a + b) * numpy.float32(0.5))


@pytest.mark.parametrize("rows, columns", [(2500, 2500), (260000, 24), (1 << 20, 6)])
def test_rows(operands, rows, columns):
    a, b = (array[: rows * columns].reshape(rows, columns) for array in operands)
    x, y = flambeau.from_numpy(a), flambeau.from_numpy(b)
    same(x + y[:, :1], a + b[:, :1])
    same(x * y[0], a * b[0])
    same(x + y.reshape(columns, rows).t(), a + b.reshape(columns, rows).T)
    same((x.t() - y.t()).contiguous(), (a - b).T)
    same(x[:, ::2] - y[:, 1::2], a[:, ::2] - b[:, 1::2])
    same(y[:, 1:] * x[:, :-1], b[:, 1:] * a[:, :-1])


def test_other_dtypes(operands):
    a, b = operands
    whole, half = (a * 100).astype(numpy.int32), b.astype(numpy.float16)
    same(flambeau.from_numpy(whole) * 3, whole * 3)
    same(flambeau.from_numpy(half) * flambeau.from_numpy(half), half * half)
    z = a[: ELEMENTS // 2] + 1j * b[: ELEMENTS // 2]
    same(flambeau.from_numpy(z) + flambeau.from_numpy(z), z + z)
    same(flambeau.from_numpy(a).bool(), a != 0)


def test_several_results(operands):
    a, _ = operands
    mantissa, exponent = flambeau.frexp(flambeau.from_numpy(a))
    expected = numpy.frexp(a)
    same(mantissa, expected[0])
    same(exponent, expected[1])
