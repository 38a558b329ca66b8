"""Large gradients that nobody else has lend their memory to the gradients made of them."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import Tensor
from flambeau.core import memory_stats, reset_peak_memory_stats

SHAPE = (200, 200)
SIZE = 200 * 200 * 4


def leaf(**kwargs) -> Tensor:
    flambeau.manual_seed(0)
    return flambeau.randn(SHAPE, requires_grad=True, **kwargs)


def peak_of_backward(y: Tensor) -> float:
    """In tensors, beside what is there."""
    reset_peak_memory_stats()
    before = memory_stats()["live_bytes"]
    y.backward(flambeau.ones(SHAPE))
    return (memory_stats()["peak_live_bytes"] - before) / SIZE


def test_a_chain_takes_one_tensor():
    x = leaf()
    y = x.exp().sin().tanh().sigmoid().exp()
    assert peak_of_backward(y) < 2.6        # the seed, one, and room for rounding




@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.bfloat16,
                                   flambeau.float16, flambeau.complex64])
def test_values_are_those_of_small_gradients(dtype):
    x = leaf(dtype=dtype)
    scale = flambeau.tensor(1.5, dtype=dtype)
    (((x * scale).exp() * scale).sin() * scale).tanh().real.sum().backward()
    for i in range(0, 200, 50):
        part = x.detach()[i].requires_grad_()
        (((part * scale).exp() * scale).sin() * scale).tanh().real.sum().backward()
        assert flambeau.allclose(x.grad[i], part.grad, rtol=1e-5, atol=0, equal_nan=True)


def test_gradients_that_users_have_stay():
    x, seen = leaf(), []
    y = x.exp()
    y.register_hook(lambda g: seen.append(g) or None)
    z = y.sin()
    z.retain_grad()
    seed = flambeau.ones(SHAPE)
    z.tanh().backward(seed)
    assert seed.eq(1).all()
    assert flambeau.equal(seen[0] * y.detach(), x.grad)
    assert flambeau.allclose(z.grad, 1 - z.detach().tanh() ** 2)


def test_gradients_that_hooks_made_stay():
    x, mine = leaf(), flambeau.full(SHAPE, 2.0)
    array = mine.numpy()
    y = x.exp()
    y.register_hook(lambda g: flambeau.from_numpy(array))
    y.sin().sum().backward()
    assert (array == 2).all()


def test_arrays_that_custom_functions_gave_stay():
    mine = flambeau.full(SHAPE, 2.0).numpy()

    class Given(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return flambeau.from_numpy(mine)

    Given.apply(leaf().exp()).sum().backward()
    assert (mine == 2).all()


def test_interior_gradients_that_are_asked_for_stay():
    x = leaf()
    y = x.exp()
    found, other = flambeau.autograd.grad(y.sin().tanh().sum(), (y, x))
    assert flambeau.equal(found * y.detach(), other)


def test_gradients_of_gradients_have_their_own():
    x = leaf()
    first, = flambeau.autograd.grad(x.exp().sin().sum(), x, create_graph=True)
    second, = flambeau.autograd.grad(first.sum(), x)
    e = x.detach().exp()
    assert flambeau.allclose(second, e * e.cos() - e * e * e.sin(), rtol=1e-3, atol=1e-4)


def test_mixed_dtypes_and_layouts():
    x = leaf()
    y = x.double().exp().T.sin().float().exp() * x.T
    y.sum().backward()
    z = x.detach().double().requires_grad_()
    (z.exp().T.sin().exp() * z.T).sum().backward()
    assert flambeau.allclose(x.grad, z.grad.float(), rtol=1e-3, atol=1e-4)
