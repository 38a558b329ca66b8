"""gradcheck is itself tested: rules that are wrong by a thousandth are planted and found."""

import pytest
from numbers_for_tests import complexes, reals

import flambeau
from flambeau.autograd import Function, GradcheckError, gradcheck, gradgradcheck


def planted(forward, derivative, error, second=False):
    """A function whose derivative, or only the derivative of it, is wrong by a factor."""

    class Derivative(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return derivative(x)

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            with flambeau.enable_grad():
                x = x.detach().requires_grad_()
                again, = flambeau.autograd.grad(derivative(x).sum(), x)
            return g * again * (1 + error)

    class Planted(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * (Derivative.apply(x) if second else derivative(x) * (1 + error))

    return Planted.apply


RULES = {
    "exp": (lambda x: x.exp(), lambda x: x.exp()),
    "sin": (lambda x: x.sin(), lambda x: x.cos()),
    "square": (lambda x: x * x, lambda x: 2 * x),
    "small": (lambda x: x * 0.01, lambda x: 0 * x + 0.01),
    "large": (lambda x: 1000 * x.exp(), lambda x: 1000 * x.exp()),
    "tanh": (lambda x: x.tanh(), lambda x: 1 - x.tanh() ** 2),
}


@pytest.mark.parametrize(("forward", "derivative"), RULES.values(), ids=RULES)
@pytest.mark.parametrize("error", [1e-3, -1e-3])
def test_wrong_by_a_thousandth(forward, derivative, error):
    with pytest.raises(GradcheckError):
        gradcheck(planted(forward, derivative, error), reals(3))


@pytest.mark.parametrize(("forward", "derivative"), RULES.values(), ids=RULES)
def test_right_ones_pass(forward, derivative):
    assert gradcheck(planted(forward, derivative, 0.0), reals(3))


@pytest.mark.parametrize("name", ["exp", "sin", "square", "tanh"])
def test_second_derivatives(name):
    assert gradgradcheck(planted(*RULES[name], 0.0, True), reals(3))
    with pytest.raises(GradcheckError):
        gradgradcheck(planted(*RULES[name], 1e-3, True), reals(3))


def test_complex():
    wrong = planted(lambda z: z * z, lambda z: (2 * z).conj(), 1e-3)
    with pytest.raises(GradcheckError):
        gradcheck(wrong, complexes(2))
    assert gradcheck(planted(lambda z: z * z, lambda z: (2 * z).conj(), 0.0), complexes(2))


def test_one_element_of_many():
    class OneWrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            wrong = flambeau.ones_like(g)
            wrong[1, 2] = 1.001
            return 3 * g * wrong

    with pytest.raises(GradcheckError, match="component 5"):
        gradcheck(OneWrong.apply, reals(2, 3))
