"""Rows of few elements, which are reduced a block at a time as columns."""

from __future__ import annotations

import math

import numpy
import pytest
from arrays import values
from checks import bits, close, same

import flambeau as fb

ROWS = (1, 127, 129, 300)       # a block has 128
LENGTHS = (1, 2, 3, 7, 8, 12, 15, 16)
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("bool", "uint8", "int8", "int16", "int32", "int64")
REDUCTIONS = {
    "sum": lambda x: x.sum(-1), "prod": lambda x: x.prod(-1), "mean": lambda x: x.mean(-1),
    "amax": lambda x: x.amax(-1), "amin": lambda x: x.amin(-1), "any": lambda x: x.any(-1),
    "all": lambda x: x.all(-1), "argmax": lambda x: x.argmax(-1), "argmin": lambda x: x.argmin(-1),
    "max": lambda x: x.max(-1).values, "min": lambda x: x.min(-1).indices,
    "nansum": lambda x: x.nansum(-1), "logsumexp": lambda x: x.logsumexp(-1),
    "norm": lambda x: fb.linalg.vector_norm(x, dim=-1),
    "norm_3": lambda x: fb.linalg.vector_norm(x, 3, dim=-1),
    "norm_inf": lambda x: fb.linalg.vector_norm(x, math.inf, dim=-1),
    "cumsum": lambda x: x.cumsum(-1),
}
OF_FLOATS = ("mean", "nansum", "logsumexp", "norm", "norm_3", "norm_inf")


def _views(table, rows, n):
    """Rows of n elements that lie side by side, in every way."""
    yield table[:rows, :n].contiguous()
    yield table[:rows, 1:n + 1]
    yield table.flatten().unfold(0, n, 1)[:rows]
    yield table.flatten().unfold(0, n, 2)[:rows]
    yield table[:rows, :n].flip(0)


def _table(dtype, rows, n):
    fb.manual_seed(7)
    table = fb.randn(rows + 2, n + 2, dtype=fb.float64) * 3
    odd = fb.rand(rows + 2, n + 2)
    if dtype in FLOATS:
        for least, value in ((0.9, 0.0), (0.93, -0.0), (0.95, math.inf), (0.97, -math.inf),
                             (0.98, math.nan)):
            table = table.masked_fill(odd > least, value)
    else:
        table = table.abs()
    return table.to(getattr(fb, dtype))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_every_row_as_if_it_were_alone(dtype, n):
    for rows in ROWS:
        for x in _views(_table(dtype, rows, n), rows, n):
            for name, reduction in REDUCTIONS.items():
                if dtype in INTEGERS and name in OF_FLOATS:
                    continue
                got = reduction(x)
                for row in {0, rows // 2, rows - 1}:
                    alone = reduction(x[row].clone())
                    assert bits(got[row]) == bits(alone) or _both_nan(got[row], alone), (name, rows)


def _both_nan(a, b):
    """The sign of NaN is nobody's business."""
    return a.dtype.is_floating_point and bool(((a == b) | (a.isnan() & b.isnan())).all())


EXPECTED = {
    "sum": numpy.sum, "prod": numpy.prod, "mean": numpy.mean, "amax": numpy.max,
    "amin": numpy.min, "max": numpy.max, "min": numpy.argmin, "argmax": numpy.argmax,
    "argmin": numpy.argmin, "any": numpy.any, "all": numpy.all, "nansum": numpy.nansum,
    "logsumexp": numpy.logaddexp.reduce, "cumsum": numpy.cumsum,
    "norm": lambda x, axis: numpy.linalg.norm(x, axis=axis),
    "norm_3": lambda x, axis: numpy.linalg.norm(x, 3, axis=axis),
    "norm_inf": lambda x, axis: numpy.linalg.norm(x, math.inf, axis=axis),
}


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_against_numpy_in_double_precision(dtype, n):
    table = _table(dtype, 300, n)
    columns = table[:300, :n].t().contiguous().t()
    for x in (*_views(table, 300, n), table[:1, :n].expand(300, n), columns):
        wide = x.to(fb.int64 if dtype in INTEGERS else fb.float64).numpy()
        for name, reduction in REDUCTIONS.items():
            if dtype in INTEGERS and name in OF_FLOATS:
                continue
            with numpy.errstate(all="ignore"):
                expected = EXPECTED[name](wide, axis=-1)
            got = reduction(x)
            close(values(got), values(fb.tensor(expected).to(got.dtype)), dtype, 4)


@pytest.mark.parametrize("least", (False, True))
def test_the_first_of_equal_elements_and_the_first_nan(least):
    x = fb.tensor([[1.0, 1.0, 0.0], [math.nan, 5.0, math.nan], [0.0, math.nan, 9.0],
                   [-0.0, 0.0, -0.0]]).repeat(50, 1)
    found = (x.argmin(-1) if least else x.argmax(-1)).reshape(50, 4)
    assert (found == fb.tensor([2 if least else 0, 0, 1, 0])).all()


def test_complex_rows():
    x = fb.randn(300, 3, dtype=fb.complex64)
    same(x.sum(-1), x[:, 0] + x[:, 1] + x[:, 2])
    same(x.prod(-1), x[:, 0] * x[:, 1] * x[:, 2])
