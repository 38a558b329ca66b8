"""Products of bfloat16, which some processors do by pairs of terms, in every layout."""

from __future__ import annotations

import numpy
import pytest

import flambeau
from flambeau.core import ops


def _made(*shape):
    rng = numpy.random.default_rng(sum(shape))
    return flambeau.tensor(rng.standard_normal(shape).astype("float32")).bfloat16()


def _wide(x):
    return x.float().numpy().astype("float64")


def _close(given, expected, terms):
    assert given.dtype is flambeau.bfloat16
    bound = 2.0**-8 * numpy.abs(expected) + 4e-5 * terms**0.5
    assert (numpy.abs(_wide(given) - expected) <= bound).all()


@pytest.mark.parametrize("k", (15, 16, 17, 18, 64, 258, 600))
@pytest.mark.parametrize(("m", "n"), ((1, 5), (3, 33), (17, 1), (40, 70)))
def test_matrices(m, k, n):
    a, b, turned = _made(m, k), _made(k, n), _made(n, k)
    _close(a @ b, _wide(a) @ _wide(b), k)
    _close(a @ turned.t(), _wide(a) @ _wide(turned).T, k)
    _close(_made(k, m).t() @ b, _wide(_made(k, m)).T @ _wide(b), k)
    for rows in (_made(m, k + 7)[:, 3:3 + k], _made(m, 2 * k)[:, ::2], _made(k).expand(m, k)):
        _close(rows @ b, _wide(rows) @ _wide(b), k)
    _close(a @ b[:, 0], _wide(a) @ _wide(b)[:, 0], k)


@pytest.mark.parametrize("k", (16, 18, 40))
def test_batches_and_layers(k):
    a, b, bias = _made(3, 5, k), _made(3, k, 7), _made(7)
    _close(a @ b, _wide(a) @ _wide(b), k)
    _close(a @ b[0], _wide(a) @ _wide(b)[0], k)
    _close(a[0] @ b, _wide(a)[0] @ _wide(b), k)
    _close(a.expand(2, 3, 5, k) @ b, numpy.stack([_wide(a) @ _wide(b)] * 2), k)
    turned = _made(5, 3, k).transpose(0, 1)
    _close(turned @ b, _wide(turned) @ _wide(b), k)
    weight = _made(7, k)
    _close(ops.linear(a, weight, bias), _wide(a) @ _wide(weight).T + _wide(bias), k)
    _close(ops.linear(a, _made(k, 7).t()), _wide(a) @ _wide(_made(k, 7)), k)


def test_infinity_and_nan():
    row = flambeau.ones(2, 32).bfloat16()
    row[0, 3], row[1, 5] = float("inf"), float("nan")
    given = (row @ flambeau.ones(32, 1).bfloat16()).flatten().tolist()
    assert given[0] == float("inf")
    assert given[1] != given[1]
