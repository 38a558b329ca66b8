"""The update rows as data."""

import re

import pytest

from flambeau.optim._rows import ROWS, SGD


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_rows_are_consistent(row):
    assert len(row.outputs) == len(row.writes)
    assert row.writes[0] == "param"
    assert re.search(r"\bg\b", row.formula) is None
    for name in (*row.writes, "grad", *row.numbers):
        assert re.search(rf"\b{name}\b", row.formula), name


def test_names_are_used_once():
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_schema_and_formula():
    assert SGD[False, False].schema == (
        "optim_sgd(Tensor(!) param, Tensor grad, *, Float lr) -> (Tensor param)"
    )
    assert SGD[False, False].formula == "param - lr * grad"
    assert SGD[True, True].schema == (
        "optim_sgd_decay_ascent(Tensor(!) param, Tensor grad, *, Float lr, Float weight_decay)"
        " -> (Tensor param)"
    )
    assert SGD[True, True].formula == "param - lr * fma(weight_decay, param, -grad)"
