"""autograd.grad's forms, and small promises about views, versions and functions."""

import warnings

import pytest

import flambeau
from flambeau.autograd import functional, grad


def test_no_inputs():
    with pytest.raises(ValueError, match="grad requires non-empty inputs"):
        grad(flambeau.ones(1, requires_grad=True) * 2, [], flambeau.ones(1))


def test_dict_of_inputs():
    x, y = flambeau.ones(2, requires_grad=True).unbind()
    found = grad(x * 3 + y * 4, {"x": x, "y": y})
    assert {name: g.item() for name, g in found.items()} == {"x": 3.0, "y": 4.0}


@pytest.mark.parametrize("create_graph", [False, True])
def test_materialized_zeros_can_be_differentiated(create_graph):
    x = flambeau.ones(2, requires_grad=True)
    y = flambeau.ones(2, requires_grad=True)
    zeros, = grad(y.sum(), x, create_graph=create_graph, materialize_grads=True)
    assert zeros.tolist() == [0.0, 0.0] and zeros.requires_grad is create_graph


def test_retained_grad_of_refreshed_views():
    base = flambeau.tensor([1.0], requires_grad=True).clone()
    first, second = base[:], base[:]
    first.retain_grad()
    second.retain_grad()
    first.mul_(2)
    (first + second).sum().backward()
    assert first.grad.tolist() == second.grad.tolist() == [1.0]


def test_version_of_inference_tensors():
    with flambeau.inference_mode():
        x = flambeau.ones(2)
        flambeau.autograd.graph.increment_version(x)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        flambeau.autograd.graph.increment_version(x)


def test_dirty_tensors_that_are_no_inputs():
    class Made(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 3
            y.add_(1)
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = flambeau.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match=r"Only input Tensors should be given to ctx.mark_dirty"):
        y = Made.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_create_graph_under_no_grad():
    x = flambeau.ones(2)
    with flambeau.no_grad():
        for result in (functional.jacobian(lambda x: x.exp(), x, create_graph=True),
                       functional.hessian(lambda x: (x ** 3).sum(), x, create_graph=True),
                       functional.jacobian(lambda x: x.exp(), x, create_graph=True,
                                           vectorize=True)):
            assert result.grad_fn is not None
        assert functional.jacobian(lambda x: x.exp(), x).grad_fn is None
        assert not flambeau.is_grad_enabled()


def test_backward_with_create_graph_warns_of_the_cycle():
    x = flambeau.ones(2, requires_grad=True)
    y = (x * x).sum()
    before = flambeau.is_warn_always_enabled()
    flambeau.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True"):
            y.backward(create_graph=True)
        with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True"):
            flambeau.autograd.backward(y, create_graph=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            flambeau.autograd.grad(y, x, create_graph=True)
    finally:
        flambeau.set_warn_always(before)
