"""Quotients and remainders of int64, beside tensors, rows, columns and numbers of any size."""

from __future__ import annotations

import math

import pytest

import flambeau as fb

EDGES = (0, 1, 2, 3, 7, 2**31, 2**51 - 1, 2**51, 2**51 + 1, 2**53 + 1, 2**62, 2**63 - 1)
OPERATORS = {
    "floor": (lambda x, y: x // y, lambda a, b: a // b),
    "remainder": (lambda x, y: x % y, lambda a, b: a % b),
    "fmod": (fb.fmod, lambda a, b: int(math.copysign(1, a)) * (abs(a) % abs(b))),
}


def _numbers(high, n, seed):
    """Of both signs up to a bound, with edges and neighbours of multiples."""
    fb.manual_seed(seed)
    x = fb.randint(-high, high, (n,))
    edges = [e for e in EDGES if e < high]
    for i, edge in enumerate(edges):
        x[3 * i % n], x[(5 * i + 1) % n] = edge, -edge
    return x


def _wrapped(value):
    return (value + 2**63) % 2**64 - 2**63


def _check(operator, x, y):
    call, exact = OPERATORS[operator]
    got = call(x, y)
    a, b = (t if isinstance(t, fb.Tensor) else fb.tensor(t) for t in (x, y))
    a, b = fb.broadcast_tensors(a, b)
    wanted = [_wrapped(exact(p, q)) for p, q in zip(a.flatten().tolist(), b.flatten().tolist(),
                                                     strict=True)]
    assert got.dtype == fb.int64 and got.flatten().tolist() == wanted


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("high", (10, 2**20, 2**51, 2**52, 2**63 - 1))
def test_against_python(operator, high):
    x = _numbers(high, 33 * 70, 1).reshape(33, 70)
    y = _numbers(high, 33 * 70, 2).reshape(33, 70)
    y[y == 0] = -1
    for left, right in ((x, y), (x, y[0]), (x, y[:, :1]), (x[0], y), (x[:, ::2], y[:, ::2]),
                        (x.t(), y.t()), (x, y[4, 4]), (x[3, 3], y)):
        _check(operator, left, right)
    for number in (1, -1, 7, -7, high):
        _check(operator, x, number)
    least = fb.full((40, 40), -2**63)
    _check(operator, least, -1)
    _check(operator, least, fb.full((40, 40), -1))
    _check(operator, least, fb.full((40,), 3))


@pytest.mark.parametrize("operator", OPERATORS)
def test_multiples_and_their_neighbours(operator):
    fb.manual_seed(4)
    y = fb.randint(1, 2**25, (600,)) * (1 - 2 * (fb.arange(600) % 2))
    for shift in (-1, 0, 1):
        _check(operator, y * fb.randint(0, 2**25, (600,)) + shift, y)
        _check(operator, -(y * fb.randint(0, 2**25, (600,))) + shift, y)


def test_in_place_and_zero():
    x = fb.arange(-50, 50)
    by = fb.arange(1, 101)
    wanted = [a % b for a, b in zip(x.tolist(), by.tolist(), strict=True)]
    assert x.clone().remainder_(by).tolist() == wanted
    assert fb.remainder(x, by, out=by).tolist() == wanted
    for zero in (0, fb.zeros(100, dtype=fb.int64), fb.zeros((), dtype=fb.int64)):
        with pytest.raises(ZeroDivisionError):
            x % zero
    assert (x[:0] % x[:0]).shape == (0,)
