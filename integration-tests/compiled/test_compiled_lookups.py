"""Rows of a table in compiled calls: looked up where they are used, to the operator's bits."""

from __future__ import annotations

import numpy as np
import pytest
from seen_bits import bits

import flambeau as fl
from flambeau.nn import functional as F

pytestmark = pytest.mark.usefixtures("small_kernels_wait")
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "bool", "complex64")


def _table(rows, columns, dtype):
    values = np.random.default_rng(0).standard_normal((rows, columns)) * 4
    return fl.tensor(values).to(getattr(fl, dtype))


def _ids(rows, *shape):
    return fl.tensor(np.random.default_rng(1).integers(0, rows, shape))


def _compare(run):
    wanted = bits(run())
    compiled = fl.compile(run)
    for _ in range(5):
        assert bits(compiled()) == wanted
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


@pytest.mark.parametrize("dtype", DTYPES)
def test_indexed_rows(dtype):
    for shape in ((50,), (50, 1), (50, 24), (50, 4, 6), (50, 2, 3, 5)):
        table = _table(50, int(np.prod(shape[1:])), dtype).reshape(shape)
        ids = _ids(50, 20, 6)

        line = ids[:, 1].contiguous()

        def run(table=table, ids=ids, line=line):
            return [table[ids] + table[ids - 50], table[line] * 2, table.index_select(0, line) + 1,
                    (table[line] + table[-line]).sum(-1), table[line], table[line - 50].clone(),
                    table[line[0]] + table[line[:1]], table[ids.t()] * 2, table[line[::2]] + 1]
        _compare(run)


def test_other_ways_to_index():
    table, ids = _table(50, 24, "float32"), _ids(24, 20)

    def run():
        wide = table * 2
        return [wide[:, ids] + 1, wide[ids, ids] * 2, wide[ids, 3] * 2, wide.t()[ids] + 1,
                wide.index_select(1, ids) * 2, wide[ids.int()] + 1, wide[wide[:, 0] > 0] * 2,
                wide[ids[:0]] + 1, wide[None, ids] * 2, wide.index_select(0, ids[0]) + 1]
    _compare(run)


def test_gradients_of_indexed_rows():
    base, ids = _table(50, 64, "float32"), _ids(50, 40)

    def run():
        table = base.clone().requires_grad_()
        (table[ids] * table.index_select(0, ids) * 0.5).relu().sum().backward()
        return [table.grad]
    _compare(run)


@pytest.mark.parametrize("width", [1, 3, 32])
def test_messages_along_edges(width):
    nodes, begin, end = _table(50, width, "float32"), _ids(50, 400), _ids(50, 400).flip(0)
    extra = _table(400, 2, "float32")

    def run():
        mine, other = nodes[begin], nodes.index_select(0, end)
        messages = fl.cat([mine, other - mine], 1).relu()
        late = fl.cat([extra, mine * 2, extra[:, :1]], 1) + 1
        early = fl.cat([mine * 2, extra], 1)
        sums = fl.zeros(50, 2 * width).index_add_(0, end, messages)
        return [messages, late, early.sum(1), sums, fl.cat([mine * 2, mine], 1)[:, 1:] * 3]
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

    @fl.compile
    def indexed():
        return (table[ids] * 0.5 + bias).softmax(-1)
    assert fl.equal(wanted, indexed())
    assert "index; [40, 64]: mul add; softmax" in indexed.explain()


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


@pytest.mark.parametrize("select", [False, True])
@pytest.mark.parametrize("wrong", [-51, 50, -1])
def test_indices_out_of_range(wrong, select):
    table, ids = _table(50, 64, "float32"), _ids(50, 40)
    ids[5] = wrong

    @fl.compile
    def run():
        doubled = table * 2
        found = doubled.index_select(0, ids) if select else doubled[ids]
        return found + 1
    if wrong == -1 and not select:
        assert fl.equal(run()[5], table[49] * 2 + 1)
        return
    for _ in range(5):
        with pytest.raises(IndexError, match=str(wrong)):
            run()


def test_indices_that_change_between_replays():
    table, ids = _table(50, 64, "float32"), _ids(50, 40)

    @fl.compile(replay=True)
    def run(ids):
        return table[ids] * 0.5 + 1
    for number in (3, -3, 49, -50, 7):
        for _ in range(3):
            expected = (table[number] * 0.5 + 1).expand(40, 64)
            assert fl.equal(run(ids.clone().fill_(number)), expected)
    with pytest.raises(IndexError, match="50"):
        run(ids.clone().fill_(50))
