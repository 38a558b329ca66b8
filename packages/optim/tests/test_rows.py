"""The update rows as data."""

import pytest

from flambeau.optim._rows import ROWS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_rows_are_consistent(row):
    assert len(row.outputs) == len(row.writes)
    assert row.writes[0] == "param"
    assert row.reads == ("grad",)
    for name in (*row.writes, *row.reads, *row.scalars):
        assert any(name in text for text in row.outputs), name


def test_schema_and_formula():
    sgd = ROWS[0]
    assert sgd.schema == (
        "optim_sgd(Tensor(!) param, Tensor grad, *, Float lr, Float weight_decay, Float sign)"
        " -> (Tensor param)"
    )
    assert sgd.formula == (
        "param - lr * (sign * grad + weight_decay * param if weight_decay != 0 else sign * grad)"
    )
