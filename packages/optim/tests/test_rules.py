"""The update rules as data."""

import re

import pytest

from flambeau.optim._rules import RULES, SGD


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rules_are_consistent(rule):
    assert len(rule.outputs) == len(rule.writes)
    assert rule.writes[0] == "param"
    assert re.search(r"\bg\b", rule.formula) is None
    for name in (*rule.writes, "grad", *rule.numbers):
        assert re.search(rf"\b{name}\b", rule.formula), name


def test_names_are_used_once():
    assert len({rule.name for rule in RULES}) == len(RULES)


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
