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
    plain, decaying = SGD
    assert plain.schema == (
        "optim_sgd(Tensor(!) param, Tensor grad, *, Float lr, Float sign) -> (Tensor param)"
    )
    assert plain.formula == "param - lr * (sign * grad)"
    assert decaying.schema == (
        "optim_sgd_decay(Tensor(!) param, Tensor grad, *, Float lr, Float sign,"
        " Float weight_decay) -> (Tensor param)"
    )
    assert decaying.formula == "param - lr * fma(weight_decay, param, sign * grad)"
