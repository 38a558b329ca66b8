"""What custom functions return: inputs written to or passed on, gradients of another shape."""

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau.autograd import Function
from flambeau.autograd.function import InplaceFunction


def test_inplace_functions():
    class Add(InplaceFunction):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a)
            return a.add_(b)

        @staticmethod
        def backward(ctx, g):
            return g, g

    x, y = flambeau.ones(2), flambeau.ones(2, requires_grad=True)
    total = Add.apply(x, y)
    assert total is x and type(total.grad_fn) is Add._backward_cls
    total.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]
    with pytest.warns(DeprecationWarning, match="instantiated"):
        assert Add(True).inplace


@pytest.mark.parametrize("zeros", [True, False])
def test_gradients_of_outputs_that_have_none(zeros):
    seen = []

    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx._materialize_non_diff_grads = zeros
            first, second = x.clone(), x.clone()
            ctx.mark_non_differentiable(second)
            return first, second

        @staticmethod
        def backward(ctx, g, h):
            seen.append(h is None)
            return g

    Twice.apply(reals(2))[0].sum().backward()
    assert seen == [not zeros]


def _returns(shape, grad):
    """The gradient of a sum whose backward returns ``grad``."""
    class Returns(Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, g):
            return grad

    x = flambeau.ones(shape, requires_grad=True)
    Returns.apply(x).backward()
    return x.grad.tolist()


def test_gradients_are_summed_to_their_input():
    numbers = flambeau.arange(6.0)
    assert _returns((2,), numbers.view(3, 2)) == [6.0, 9.0]
    assert _returns((2, 1), numbers.view(2, 3)) == [[3.0], [12.0]]
    assert _returns((), numbers[3:4]) == 3.0
    assert _returns((6,), numbers.view(1, 6)) == numbers.tolist()


@pytest.mark.parametrize(("shape", "other"), [
    ((1,), ()), ((2, 3), (6,)), ((1, 6), (6,)), ((6,), (2, 3)), ((6, 1), (6,)), ((3,), (2,))])
def test_gradients_of_another_shape_are_refused(shape, other):
    with pytest.raises(RuntimeError, match=r"invalid gradient at index 0: got shape .* in shape"):
        _returns(shape, flambeau.ones(other))


class Same(Function):
    """The input itself, whose gradient is tenfold."""

    @staticmethod
    def forward(ctx, x, constant=False):
        if constant:
            ctx.mark_non_differentiable(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 10, None


def test_an_input_that_is_returned_is_a_view_of_it():
    x = flambeau.ones(2, requires_grad=True)
    y = x * 1
    same = Same.apply(y)
    assert same is not y and same._is_view()
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        same.mul_(2)                        # y would not know of it
    same.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]
    constant = Same.apply(y, True)
    assert not constant.requires_grad and constant.is_leaf
