"""Every definition of the core's operator table is differentiable in a stated way."""

import pytest
from numbers_for_tests import complexes, reals

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.autograd._table import NO_DERIVATIVE, RULES, load_rules
from flambeau.core import find_op, ops
from flambeau.core.opdefs import OPDEFS
from flambeau.core.opdefs.derived import derived_key

load_rules()

#: Composites of several outputs, which the tape knows as one node all the same.
ONE_NODE = {"aminmax", "split", "split_with_sizes", "std_mean", "unbind", "var_mean"}


def _is_derived(opdef):
    """A pointwise operator whose derivatives by all its operands are definitions of the table."""
    operands = [p.name for p in opdef.operands if p.role != "Mask"]
    keys = [derived_key(opdef.key, p) for p in operands]
    return opdef.category == "pointwise" and all(map(_exists, keys))


def _exists(key):
    try:
        find_op(key)
    except KeyError:
        return False
    return True


@pytest.mark.parametrize("opdef", OPDEFS, ids=lambda opdef: opdef.key)
def test_every_row_is_accounted_for(opdef):
    """Ruled, derived from its formula, made of other operators, or declared without."""
    ways = {"rule": opdef.key in RULES, "none": opdef.key in NO_DERIVATIVE,
            "composite": opdef.category == "composite" and opdef.key not in ONE_NODE}
    if not any(ways.values()):
        assert _is_derived(opdef), f"{opdef.key}: no rule, no declaration, no derived definition"
    assert sum(ways.values()) <= 1


@pytest.mark.parametrize("opdef", OPDEFS, ids=lambda opdef: opdef.key)
def test_declarations_agree_with_the_table(opdef):
    if opdef.key in NO_DERIVATIVE and opdef.category != "pointwise":
        assert not opdef.differentiable
    if not opdef.differentiable:
        assert opdef.key not in RULES


def test_no_rule_is_for_an_operator_that_does_not_exist():
    keys = {opdef.key for opdef in OPDEFS}
    assert set(RULES) - keys == set()
    assert NO_DERIVATIVE - keys == set()


DERIVED = [opdef for opdef in OPDEFS
           if opdef.category == "pointwise" and opdef.differentiable
           and opdef.key not in RULES and opdef.key not in NO_DERIVATIVE]
#: Flat or straight between steps: the first derivative is constant and has no history.
FLAT = {"floor", "ceil", "trunc", "round", "sign", "frac"}


def _inputs(opdef, make):
    """Operands inside the definition's domain, the later ones broadcast."""
    low, high = opdef.domain
    shapes = [(2, 3), (3,), (2, 1)]
    operands = [p for p in opdef.operands if p.role != "Mask"]
    return tuple(make(*shapes[i], low=low, high=high, seed=i) for i in range(len(operands)))


def _callable(opdef):
    return getattr(ops, opdef.name)


@pytest.mark.parametrize("opdef", DERIVED, ids=lambda opdef: opdef.key)
def test_derived_rows(opdef):
    assert gradcheck(_callable(opdef), _inputs(opdef, reals))


@pytest.mark.parametrize("opdef", [r for r in DERIVED if r.key not in FLAT],
                         ids=lambda opdef: opdef.key)
def test_derived_rows_twice(opdef):
    assert gradgradcheck(_callable(opdef), _inputs(opdef, reals))


@pytest.mark.parametrize("opdef", [r for r in DERIVED if "complex" in r.formulas],
                         ids=lambda opdef: opdef.key)
def test_derived_rows_of_complex_numbers(opdef):
    count = len([p for p in opdef.operands if p.role != "Mask"])
    assert gradcheck(_callable(opdef), tuple(complexes(3, seed=i) for i in range(count)))


def test_third_order():
    """Derivatives of derivatives of derivatives, each derived from the one before."""
    x = reals(3)
    y = x.tanh()
    for _ in range(3):
        y, = flambeau.autograd.grad(y.sum(), x, create_graph=True)
    t = x.detach().tanh()
    expected = -2 + 8 * t**2 - 6 * t**4
    assert (y - expected).abs().max().item() < 1e-12


def test_derivatives_in_low_precision():
    for dtype in (flambeau.float16, flambeau.bfloat16, flambeau.float32):
        x = flambeau.tensor([0.5, 1.0], dtype=dtype, requires_grad=True)
        x.exp().sum().backward()
        assert x.grad.dtype is dtype


class TestRegisteredOperators:
    def test_formula_gives_the_derivative(self):
        op = flambeau.core.register_op("tape_test_cubic(Operand x, Operand w, *, Scalar a=1)",
                                       float="a * x * x * x + w * x")
        assert gradcheck(lambda x, w: op(x, w, a=0.5), (reals(2, 3), reals(3, seed=1)))
        assert gradgradcheck(lambda x, w: op(x, w, a=0.5), (reals(2, 3), reals(3, seed=1)))

    def test_a_stated_rule_comes_first(self):
        op = flambeau.core.register_op("tape_test_twice(Operand x)", float="x + x")
        flambeau.autograd.rule("tape_test_twice", x=lambda g: g * 7)
        x = reals(2)
        op(x).sum().backward()
        assert x.grad.tolist() == [7.0, 7.0]

    def test_declared_without_derivative(self):
        op = flambeau.core.register_op("tape_test_rank(Operand x)", float="floor(x)")
        flambeau.autograd.no_derivative("tape_test_rank")
        assert not op(reals(2)).requires_grad


class TestMistakesInRules:
    def test_a_rule_wrong_by_a_thousandth_is_caught(self):
        op = flambeau.core.register_op("tape_test_wrong(Operand x)", float="x * x")
        flambeau.autograd.rule("tape_test_wrong", x=lambda g, x: g * 2 * x * 1.001)
        with pytest.raises(flambeau.autograd.GradcheckError):
            gradcheck(op, reals(3, low=1.0), rtol=1e-4)

    def test_a_second_order_mistake_is_caught(self):
        op = flambeau.core.register_op("tape_test_hidden(Operand x)", float="x * x * x")
        flambeau.autograd.rule("tape_test_hidden", x=lambda g, x: g * 3 * x * x.detach())
        assert gradcheck(op, reals(3))
        with pytest.raises(flambeau.autograd.GradcheckError):
            gradgradcheck(op, reals(3))

    def test_unknown_parameter(self):
        op = flambeau.core.register_op("tape_test_typo(Operand x)", float="x * x")
        flambeau.autograd.rule("tape_test_typo", x=lambda g, y: g)
        with pytest.raises(ValueError, match="parameter 'y'; it can be g, grads, needs.* x,"):
            op(reals(2))

    def test_stated_twice(self):
        with pytest.raises(ValueError, match="already stated"):
            flambeau.autograd.rule("mul", self=lambda g: g)
        with pytest.raises(ValueError, match="has a rule"):
            flambeau.autograd.no_derivative("mul")
        with pytest.raises(ValueError, match="without a function"):
            flambeau.autograd.rule("tape_test_nothing")

    def test_not_a_tensor(self):
        op = flambeau.core.register_op("tape_test_number(Operand x)", float="x * x")
        flambeau.autograd.rule("tape_test_number", x=lambda g: 3.0)
        with pytest.raises(RuntimeError, match="TapeTestNumberBackward0.*not float"):
            op(reals(2)).sum().backward()
