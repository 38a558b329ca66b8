"""Gradients of convolutions as functions, against backward() and PyTorch."""

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F
from flambeau import nn

OPTIONS = [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (2, 1, 1, 2)]


def operands(dims, groups):
    flambeau.manual_seed(0)
    x = flambeau.randn(2, 4, *[7] * dims, dtype=flambeau.float64, requires_grad=True)
    shape = (6, 4 // groups, *[3] * dims)
    return x, flambeau.randn(*shape, dtype=flambeau.float64, requires_grad=True)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("options", OPTIONS)
def test_the_gradients_are_those_of_backward(dims, options):
    x, weight = operands(dims, options[-1])
    y = getattr(F, f"conv{dims}d")(x, weight, None, *options)
    g = flambeau.randn_like(y)
    y.backward(g)
    by_input = getattr(nn.grad, f"conv{dims}d_input")(x.shape, weight, g, *options)
    by_weight = getattr(nn.grad, f"conv{dims}d_weight")(x, weight.shape, g, *options)
    np.testing.assert_allclose(by_input.detach().numpy(), x.grad.numpy(), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        by_weight.detach().numpy(), weight.grad.numpy(), rtol=1e-10, atol=1e-10
    )


def test_they_are_differentiable():
    x, weight = operands(1, 1)
    g = flambeau.randn(2, 6, 5, dtype=flambeau.float64, requires_grad=True)

    def by_input(weight, g):
        return nn.grad.conv1d_input(x.shape, weight, g)

    assert flambeau.autograd.gradcheck(by_input, (weight, g))


@pytest.mark.oracle
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("options", OPTIONS)
def test_against_torch(dims, options):
    torch = pytest.importorskip("torch")
    x, weight = [t.detach() for t in operands(dims, options[-1])]
    g = flambeau.randn_like(getattr(F, f"conv{dims}d")(x, weight, None, *options))
    theirs = [torch.from_numpy(t.numpy()) for t in (x, weight, g)]
    for kind in ("input", "weight"):
        name = f"conv{dims}d_{kind}"
        mine_first, theirs_first = (
            ((x.shape, weight), (theirs[0].shape, theirs[1]))
            if kind == "input"
            else ((x, weight.shape), (theirs[0], theirs[1].shape))
        )
        mine = getattr(nn.grad, name)(*mine_first, g, *options)
        expected = getattr(torch.nn.grad, name)(*theirs_first, theirs[2], *options)
        np.testing.assert_allclose(mine.numpy(), expected.numpy(), rtol=1e-10, atol=1e-10)


def test_the_functional_module_has_them_too():
    assert F.grad.conv2d_input is nn.grad.conv2d_input
