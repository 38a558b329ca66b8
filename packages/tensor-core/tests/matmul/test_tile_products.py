"""Products of bfloat16 as large as processors with AMX make of tiles, in every layout.

Elsewhere the same products go by pairs of terms or by float32, and have to be as close.
"""

from __future__ import annotations

import numpy
import pytest

import flambeau
from flambeau.core import ops

#: Around half a tile, a tile, two tiles, and the rows and terms that are packed at once.
ROWS = (8, 15, 16, 17, 31, 33, 352, 385)
TERMS = (16, 30, 32, 34, 96, 512, 514, 1100)


def _made(*shape, inside=None):
    """Random numbers; `inside` a larger tensor of NaN, as a view."""
    rng = numpy.random.default_rng(sum(shape))
    values = flambeau.tensor(rng.standard_normal(shape).astype("float32")).bfloat16()
    if inside is None:
        return values
    memory = flambeau.full(inside, float("nan"), dtype=flambeau.bfloat16)
    view = memory[tuple(slice(1, 1 + size) for size in shape)]
    view.copy_(values)
    return view


def _wide(x):
    return x.float().numpy().astype("float64")


def _close(given, expected, terms):
    assert given.dtype is flambeau.bfloat16
    bound = 2.0**-8 * numpy.abs(expected) + 4e-5 * terms**0.5
    assert (numpy.abs(_wide(given) - expected) <= bound).all()


def _layouts(rows, cols):
    """The same matrix in rows, in columns, inside of NaN, with steps, in reverse order."""
    x = _made(rows, cols)
    steps = flambeau.full((2 * rows, 2 * cols), float("nan"), dtype=flambeau.bfloat16)
    steps[::2, ::2] = x
    yield x
    yield x.t().contiguous().t()
    yield _made(rows, cols, inside=(rows + 2, cols + 2))
    yield _made(rows, cols, inside=(rows + 3, cols + 3))
    yield _made(cols, rows, inside=(cols + 3, rows + 2)).t()
    yield steps[::2, ::2]


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("rows", ROWS)
def test_sizes(rows, terms):
    for cols in (16, 31, 65):
        a, b = _made(rows, terms), _made(terms, cols)
        _close(a @ b, _wide(a) @ _wide(b), terms)


@pytest.mark.parametrize(("rows", "terms", "cols"), ((40, 64, 50), (70, 34, 33), (33, 600, 300)))
def test_layouts(rows, terms, cols):
    nan = flambeau.full((400, 700), float("nan"), dtype=flambeau.bfloat16)
    for a in _layouts(rows, terms):
        for b in _layouts(terms, cols):
            nan @ nan.t()       # leaves NaN in memory that the next product may get
            _close(a @ b, _wide(a) @ _wide(b), terms)


@pytest.mark.parametrize("terms", (64, 66, 520))
def test_batches(terms):
    a, b = _made(2, 3, 40, terms), _made(2, 3, terms, 24)
    expected = _wide(a) @ _wide(b)
    _close(a @ b, expected, terms)
    _close(a.transpose(-1, -2).contiguous().transpose(-1, -2) @ b, expected, terms)
    _close(a @ b.transpose(-1, -2).contiguous().transpose(-1, -2), expected, terms)
    _close(a @ b[0, 1], _wide(a) @ _wide(b)[0, 1], terms)
    _close(a[1, 0] @ b, _wide(a)[1, 0] @ _wide(b), terms)
    heads = _made(2, 40, 3, terms).transpose(1, 2)
    _close(heads @ b, _wide(heads) @ _wide(b), terms)
    _close(heads @ b.transpose(1, 2).contiguous().transpose(1, 2), _wide(heads) @ _wide(b), terms)


@pytest.mark.parametrize("terms", (64, 90, 1030))
def test_layers(terms):
    x, weight, bias = _made(3, 50, terms), _made(70, terms), _made(70)
    expected = _wide(x) @ _wide(weight).T
    _close(ops.linear(x, weight), expected, terms)
    _close(ops.linear(x, weight, bias), expected + _wide(bias), terms)
    _close(ops.linear(x, weight.t().contiguous().t(), bias), expected + _wide(bias), terms)
    _close(ops.addmm(bias, x[0], weight.t()), expected[0] + _wide(bias), terms)


def test_given_results():
    a, b = _made(40, 64), _made(64, 48)
    for out in (flambeau.empty(40, 48), flambeau.empty(48, 40).t(), flambeau.empty(40, 96)[:, ::2]):
        out = out.bfloat16()
        assert flambeau.mm(a, b, out=out) is out
        _close(out, _wide(a) @ _wide(b), 64)


@pytest.mark.parametrize("terms", (64, 600))
def test_bits_are_those_of_parts(terms):
    """Neither the cut into rows and columns nor the number of threads shows."""
    a, b = _made(400, terms), _made(terms, 500)
    together = a @ b
    for rows, cols in (((0, 16), (0, 16)), ((3, 40), (70, 103)), ((350, 400), (240, 500))):
        part = a[slice(*rows)] @ b[:, slice(*cols)]
        assert part.equal(together[slice(*rows), slice(*cols)])
    assert (a @ b.t().contiguous().t()).equal(together)
    assert (a.t().contiguous().t() @ b).equal(together)
    threads = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(1)
        assert (a @ b).equal(together)
    finally:
        flambeau.set_num_threads(threads)


def test_infinity_and_nan_stay_in_their_rows():
    a = flambeau.ones(40, 64).bfloat16()
    a[3, 5], a[20, 63] = float("inf"), float("nan")
    given = (a @ flambeau.ones(64, 40).bfloat16()).float()
    assert given[3].isinf().all()
    assert given[20].isnan().all()
    others = [i for i in range(40) if i not in (3, 20)]
    assert (given[others] == 64).all()
