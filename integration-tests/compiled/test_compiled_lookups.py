"""Rows of a table in compiled calls: looked up where they are used, to the operator's bits."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as fl
from flambeau.nn import functional as F

pytestmark = pytest.mark.usefixtures("small_kernels_wait")
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "bool", "complex64")


def _table(rows, columns, dtype):
    values = np.random.default_rng(0).standard_normal((rows, columns)) * 4
    return fl.tensor(values).to(getattr(fl, dtype))


def _ids(rows, *shape):
    return fl.tensor(np.random.default_rng(1).integers(0, rows, shape))


def _bits(results):
    return [(t.dtype, t.shape, t.stride(), t.detach().contiguous().view(fl.uint8).tolist())
            for t in results]


def _compare(run):
    wanted = _bits(run())
    compiled = fl.compile(run)
    for _ in range(5):
        assert _bits(compiled()) == wanted
    return compiled


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_reads_the_rows(dtype):
    for columns in (1, 3, 16, 40, 300):
        table, ids = _table(50, columns, dtype), _ids(50, 20, 6)
        other = _table(6, columns, dtype)

        def run(table=table, ids=ids, other=other):
            found = F.embedding(ids, table)
            looked = F.embedding(ids[:, 0], table)
            return [found + other, found + found, (found * 2).sum(-1), found.clone(), looked + 1,
                    F.embedding(ids.t(), table) * 3]
        _compare(run)


def test_layouts_of_tables_and_numbers():
    wide = _table(50, 64, "float32")
    ids = _ids(25, 30)
    for table in (wide[:, ::2], wide.t().contiguous().t(), wide[:1].expand(50, 64), wide[::2]):
        for numbers in (ids, fl.stack([ids, ids], 1)[:, 0], ids.int(), ids[:0], ids[3]):
            def run(table=table, numbers=numbers):
                return [(F.embedding(numbers, table) * 2).softmax(-1)]
            _compare(run)


def test_rows_are_not_in_memory():
    table, ids, bias = _table(50, 64, "float32"), _ids(50, 40), _table(40, 64, "float32")

    @fl.compile
    def run():
        return (F.embedding(ids, table) * 0.5 + bias).softmax(-1)
    wanted = run()
    assert "embedding_lookup; [40, 64]: mul add; softmax" in run.explain()
    assert fl.equal(wanted, (table[ids] * 0.5 + bias).softmax(-1))


def test_writes_before_and_after():
    def run():
        table, ids = _table(50, 64, "float32"), _ids(50, 40)
        table.mul_(2)
        found = F.embedding(ids, table)
        table.add_(1)
        again = F.embedding(ids, table) + found
        ids.zero_()
        other = F.embedding(ids + 1, table) * 2
        found.add_(1)
        return [found, again, other, table, ids]
    _compare(run)


def test_gradients_and_options():
    base, ids = _table(50, 64, "float32"), _ids(50, 40)

    def run():
        table = base.clone().requires_grad_()
        found = F.embedding(ids, table, padding_idx=3)
        (found * found).sum().backward()
        first = table.grad
        scaled = F.embedding(ids, base.clone(), max_norm=1.0) * 2
        return [found, first, scaled]
    _compare(run)


@pytest.mark.parametrize("wrong", [-1, 50, 2**40])
def test_numbers_out_of_range(wrong):
    table, ids, lines = _table(50, 64, "float32"), _ids(50, 40), []
    ids[5] = wrong

    @fl.compile
    def run():
        doubled = table * 2
        lines.append("before")
        found = F.embedding(ids, doubled)
        lines.append("after")
        return found
    for _ in range(5):
        with pytest.raises(IndexError) as error:
            run()
        assert str(wrong) in str(error.value)
    assert set(lines) == {"before"}
