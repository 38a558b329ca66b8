"""Every rule, to first and second order, against finite differences in float64."""

import math

import pytest
import samples_indices
from samples import ONCE, SAMPLES, THROUGH_SECOND_ORDER

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.autograd._table import NO_DERIVATIVE, RULES, load_rules

load_rules()
SAMPLES = SAMPLES | samples_indices.SAMPLES
#: One needs a second device.
ELSEWHERE = {"to_device",
             "nextafter_narrow",     # of float16 alone; the rule of nextafter_wide
             "recurrent_grad",       # refuses: recurrent's rule is made of operators where need be
             # of test_gamma_rules.py
             "standard_gamma", "standard_gamma_grad", "sample_dirichlet", "dirichlet_grad",
             "quantized_linear", "fake_quantize_by",   # of test_quantized_rules.py
             "weight_only_linear",   # of test_weight_only_rules.py
             "native_dropout",       # of test_dropout_rule.py
             # of test_refused_derivatives.py
             "bernoulli", "poisson", "binomial", "geqrf", "linalg_ldl_factor_ex",
             "linalg_ldl_solve", "floor_divide"}
CALLS = [pytest.param(make, id=f"{key}-{n}")
         for key, makers in SAMPLES.items() for n, make in enumerate(makers)]
#: The gradient is zero, or does not depend on anything that is differentiated.
CONSTANT = ("trunc_divide-", "floor-", "ceil-", "trunc-", "round-", "sign-", "nextafter_wide-")
CURVED = [call for call in CALLS
          if not call.id.startswith((*CONSTANT, *(f"{key}-" for key in ONCE.values())))]


@pytest.mark.parametrize("make", CALLS)
def test_first_derivative(make):
    fn, inputs = make()
    assert gradcheck(fn, inputs)


@pytest.mark.parametrize("make", CURVED)
def test_second_derivative(make):
    fn, inputs = make()
    assert gradgradcheck(fn, inputs)


@pytest.mark.parametrize("name", samples_indices.COMPOSITES)
def test_composites_of_movement(name):
    fn, inputs = samples_indices.COMPOSITES[name]()
    assert gradcheck(fn, inputs)
    assert gradgradcheck(fn, inputs)


@pytest.mark.parametrize("key", ONCE.values())
def test_no_second_derivative_is_said(key):
    fn, inputs = SAMPLES[key][0]()
    grads = flambeau.autograd.grad(fn(*inputs).sum(), inputs, create_graph=True)
    with pytest.raises(NotImplementedError, match="is not implemented"):
        flambeau.autograd.grad(sum(g.sum() for g in grads), inputs)


def test_the_gradient_of_recurrent_is_differentiated_through_recurrent():
    zeros = [flambeau.zeros(*shape, requires_grad=True) for shape in ((1, 1, 2), (1, 2), (2, 2))]
    x, h, w = zeros
    y, _, _, gates, cells = flambeau.core.ops.recurrent(x, h, None, w, w, None, None, mode="tanh")
    grads = flambeau.core.ops.recurrent_grad(y.detach(), None, None, x, h, None, w, w, None, None,
                                             "tanh", False, y.detach(), gates, cells, 7)
    with pytest.raises(NotImplementedError, match="create_graph=True"):
        grads[1].sum().backward()


#: Without the rules that other tests register.
BUILT_IN = frozenset(RULES)


def test_every_rule_has_a_sample():
    tested = set(SAMPLES) | set(THROUGH_SECOND_ORDER) | set(ONCE) | ELSEWHERE
    assert BUILT_IN - tested == set()


def test_a_key_is_ruled_or_listed_not_both():
    assert set(RULES) & NO_DERIVATIVE == set()


def test_derivatives_of_high_order():
    x = flambeau.tensor(0.5, dtype=flambeau.float64, requires_grad=True)
    y = x.sin()
    for _ in range(10):
        (y,) = flambeau.autograd.grad(y, x, create_graph=True)
    assert abs(y.item() + math.sin(0.5)) < 1e-12
