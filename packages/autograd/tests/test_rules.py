"""Every rule, to first and second order, against finite differences in float64."""

import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.autograd._table import NO_DERIVATIVE, RULES, load_rules
from samples import SAMPLES, THROUGH_SECOND_ORDER

load_rules()
#: Needs a second device.
ELSEWHERE = {"to_device"}
CALLS = [pytest.param(make, id=f"{key}-{n}")
         for key, makers in SAMPLES.items() for n, make in enumerate(makers)]


@pytest.mark.parametrize("make", CALLS)
def test_first_derivative(make):
    fn, inputs = make()
    assert gradcheck(fn, inputs)


@pytest.mark.parametrize("make", CALLS)
def test_second_derivative(make):
    fn, inputs = make()
    if not any(g.requires_grad for g in _first(fn, inputs)):
        pytest.skip("the first derivative is constant and its rule keeps no history")
    assert gradgradcheck(fn, inputs)


def _first(fn, inputs):
    y = fn(*inputs)
    wanted = [x for x in inputs if x.requires_grad]
    seed = flambeau.ones_like(y).requires_grad_()
    grads = flambeau.autograd.grad(y, wanted, seed, create_graph=True, allow_unused=True)
    return [g for g in grads if g is not None]


def test_every_rule_has_a_sample():
    tested = set(SAMPLES) | set(THROUGH_SECOND_ORDER) | ELSEWHERE
    assert set(RULES) - tested == set()


def test_a_key_is_ruled_or_listed_not_both():
    assert set(RULES) & NO_DERIVATIVE == set()
