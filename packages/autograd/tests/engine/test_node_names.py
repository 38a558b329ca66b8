"""Names of nodes are those of PyTorch, in Python and in errors."""

import re

import pytest

import flambeau
from flambeau.autograd._table import NAMES_BY_RANKS, RULES, load_rules
from flambeau.autograd.graph import Node
from flambeau.core import ops


def leaf(*data):
    return flambeau.tensor(list(data), requires_grad=True)


NAMES = [
    (lambda x: x + 1, "AddBackward0"),
    (lambda x: x - x, "SubBackward0"),
    (lambda x: x * 2, "MulBackward0"),
    (lambda x: x / 2, "DivBackward0"),
    (lambda x: -x, "NegBackward0"),
    (lambda x: x**2, "PowBackward0"),
    (lambda x: x**x, "PowBackward1"),
    (lambda x: x.exp(), "ExpBackward0"),
    (lambda x: x.sigmoid(), "SigmoidBackward0"),
    (lambda x: x.relu(), "ReluBackward0"),
    (lambda x: x.log_softmax(0), "LogSoftmaxBackward0"),
    (lambda x: x.sum(), "SumBackward0"),
    (lambda x: x.sum(0), "SumBackward1"),
    (lambda x: x.mean(), "MeanBackward0"),
    (lambda x: x.mean(0), "MeanBackward1"),
    (lambda x: x.max(0)[0], "MaxBackward0"),
    (lambda x: x.view(2, 1), "ViewBackward0"),
    (lambda x: x[0], "SelectBackward0"),
    (lambda x: x[:1], "SliceBackward0"),
    (lambda x: x.view(2, 1).t(), "TBackward0"),
    (lambda x: x.clone(), "CloneBackward0"),
    (lambda x: flambeau.cat([x, x]), "CatBackward0"),
    (lambda x: flambeau.where(x > 0, x, 0.0), "WhereBackward0"),
    (lambda x: x.double(), "ToCopyBackward0"),
]


@pytest.mark.parametrize(("fn", "name"), NAMES, ids=[n for _, n in NAMES])
def test_names_are_those_of_pytorch(fn, name):
    y = fn(leaf(1.0, 2.0))
    assert y.grad_fn.name() == name
    assert re.fullmatch(rf"<{name} object at 0x[0-9a-f]+>", repr(y.grad_fn))
    assert type(y.grad_fn).__name__ == name
    assert isinstance(y.grad_fn, Node)


#: Shapes of what is multiplied, and the node: what PyTorch composes of several keeps our name.
PRODUCTS = [
    ((3,), (3,), "DotBackward0"),
    ((2, 3), (3,), "MvBackward0"),
    ((2, 3), (3, 4), "MmBackward0"),
    ((5, 2, 3), (5, 3, 4), "BmmBackward0"),
    ((3,), (3, 4), "MatmulBackward0"),
    ((5, 2, 3), (3, 4), "MatmulBackward0"),
    ((6, 5, 2, 3), (5, 3, 4), "MatmulBackward0"),
    ((1,) * 16 + (2, 3), (3, 4), "MatmulBackward0"),
]


@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(("a", "b", "name"), PRODUCTS)
def test_products_are_named_by_the_ranks_of_their_factors(a, b, name, wanted):
    y = flambeau.ones(a, requires_grad=wanted[0]) @ flambeau.ones(b, requires_grad=wanted[1])
    y.sum().backward()
    assert y.grad_fn.name() == name == type(y.grad_fn).__name__  # what was saved is given up
    assert f"grad_fn=<{name}>" in repr(y)


LINEAR = [
    ((2, 3), True, "AddmmBackward0"),
    ((2, 3), False, "MmBackward0"),
    ((3,), True, "LinearBackward0"),
    ((3,), False, "LinearBackward0"),
    ((5, 2, 3), True, "LinearBackward0"),
    ((5, 2, 3), False, "LinearBackward0"),
]


@pytest.mark.parametrize(("shape", "biased", "name"), LINEAR)
def test_linear_is_named_by_its_rank_and_bias(shape, biased, name):
    bias = flambeau.ones(4) if biased else None
    y = ops.linear(flambeau.ones(shape), flambeau.ones(4, 3, requires_grad=True), bias)
    assert y.grad_fn.name() == name
    bias = flambeau.ones(4, requires_grad=True) if biased else None
    y = ops.linear(flambeau.ones(shape, requires_grad=True), flambeau.ones(4, 3), bias)
    assert type(y.grad_fn).__name__ == name


@pytest.mark.parametrize(("value", "name"), [(3.0, "FillBackward2"),
                                             (flambeau.tensor(3.0), "FillBackward3")],
                         ids=["number", "tensor"])
def test_fill_is_named_by_its_value(value, name):
    assert (leaf(1.0, 2.0) * 1).fill_(value).grad_fn.name() == name


def test_errors_name_what_was_called():
    x = flambeau.ones(2, 2, requires_grad=True)
    h = x * 2
    y = ops.linear(h, x, flambeau.ones(2))
    h += 1
    with pytest.raises(RuntimeError, match="LinearBackward0 saved one of its inputs"):
        y.sum().backward()
    z = x @ x
    z.sum().backward()
    with pytest.raises(RuntimeError, match="MatmulBackward0 gave up what it had saved"):
        z.sum().backward()


def test_a_name_by_ranks_fits_the_inputs_of_its_rule():
    load_rules()
    for key, names in NAMES_BY_RANKS.items():
        inputs = {name for named, _ in RULES[key] for name in named}
        assert {len(ranks) for ranks in names} == {len(inputs)}, key
