"""Sorts and leading elements of many short lines, which are ordered side by side."""

from __future__ import annotations

import math

import numpy
import pytest

import flambeau as fb

LENGTHS = (1, 2, 3, 4, 7, 8, 10, 15, 16, 17)
LINES = (15, 16, 127, 129, 300)
DTYPES = (fb.float32, fb.float64, fb.bfloat16, fb.int64, fb.int8, fb.bool, fb.uint64)


def _values(dtype, *shape):
    """Many ties; floats with zeros of both signs, infinities and NaN."""
    fb.manual_seed(shape[-1])
    x = fb.randint(0, 5, shape)
    if not dtype.is_floating_point:
        return x.to(dtype)
    table = fb.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, -2.0], dtype=dtype)
    return table[fb.randint(0, 7, shape)]


def _order(line, descending):
    """Indices of a stable order, NaN as the greatest, one element after the other."""
    def rank(i):
        nan = line[i] != line[i]
        number = 0 if nan else line[i]
        return (not nan, -number) if descending else (nan, number)
    return sorted(range(len(line)), key=rank)


def _same(a, b):
    """Equal with the signs of zeros."""
    if a.dtype == fb.bfloat16:
        a, b = a.float(), b.float()
    return numpy.array_equal(a.numpy().view(numpy.uint8), b.contiguous().numpy().view(numpy.uint8))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_against_python(dtype, n):
    for lines in LINES:
        x = _values(dtype, lines, n)
        for descending in (False, True):
            order = fb.tensor([_order(line, descending) for line in x.tolist()])
            values, indices = x.sort(1, descending=descending)
            assert fb.equal(indices, order)
            assert _same(values, x.gather(1, order))
            for k in {1, (n + 1) // 2, n}:
                best = x.topk(k, 1, largest=descending)
                assert fb.equal(best.indices, order[:, :k])
                assert _same(best.values, x.gather(1, order[:, :k]))


@pytest.mark.parametrize("dtype", (fb.float32, fb.int64))
def test_views_and_targets(dtype):
    x = _values(dtype, 40, 9)
    for view in (x.t(), x[:, ::2], x[::2], x[:, None, 2:7], x.flip(1), x.expand(3, 40, 9)):
        for dim in range(view.ndim):
            copy = view.clone(memory_format=fb.contiguous_format)
            wanted = [_order(line, False) for line in
                      copy.movedim(dim, -1).reshape(-1, view.shape[dim]).tolist()]
            got = view.sort(dim).indices.movedim(dim, -1).reshape(-1, view.shape[dim])
            assert got.tolist() == wanted
    own, indices = x.clone(), fb.empty(0, dtype=fb.int64)
    fb.sort(own, 1, out=(own, indices))
    assert _same(own, x.sort(1).values)
    assert x[:0].sort(1).values.shape == (0, 9) and x[:, :0].sort(1).values.shape == (40, 0)
    assert x.topk(0, 1).values.shape == (40, 0)
