"""Custom functions inside transforms."""

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau import func
from flambeau.autograd import Function


class Cube(Function):
    """The cube, whose backward says 7 x**2, so that it can be told from the operator's."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, scale):
        return x**3 * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 7 * x**2 * ctx.scale, None


class WithRules(Function):
    """A sum of squares with a rule for batches and one for tangents."""

    @staticmethod
    def forward(x):
        assert x.ndim == 1
        return (x * x).sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 * x

    @staticmethod
    def vmap(info, in_dims, x):
        assert info.batch_size == x.shape[in_dims[0]]
        return (x * x).sum(1 - in_dims[0]), 0

    @staticmethod
    def jvp(ctx, t):
        x, = ctx.saved_tensors
        return (2 * x * t).sum() * 5


class Old(Function):
    """Forward with ctx, without a rule for batches."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * 7 * ctx.saved_tensors[0]


def _close(a, b):
    assert a.shape == b.shape
    assert (a - b).abs().max().item() < 1e-9


X = reals(4, 3).detach()


def test_grad_uses_the_backward():
    _close(func.grad(lambda x: Cube.apply(x, 2.0).sum())(X), 14 * X**2)
    _close(func.grad(lambda x: func.grad(lambda y: Cube.apply(y, 1.0).sum())(x).sum())(X), 14 * X)


def test_vmap():
    _close(func.vmap(lambda x: Cube.apply(x, 2.0))(X), 2 * X**3)
    _close(func.vmap(WithRules.apply)(X), (X * X).sum(1))


def test_gradient_of_each_sample():
    _close(func.vmap(func.grad(lambda x: Cube.apply(x, 2.0).sum()))(X), 14 * X**2)
    _close(func.vmap(func.grad(lambda x: Old.apply(x).sum()))(X), 7 * X)


def test_gradient_around_vmap():
    _close(func.grad(lambda z: func.vmap(lambda x: Cube.apply(x, 2.0))(z).sum())(X), 14 * X**2)
    _close(func.grad(lambda z: func.vmap(WithRules.apply)(z).sum())(X), 2 * X)
    shared = X[0]
    moved = func.grad(lambda w: func.vmap(lambda x: Cube.apply(w * x, 1.0))(X).sum())(shared)
    _close(moved, (7 * (shared * X)**2 * X).sum(0))


def test_vmap_within_vmap():
    nested = func.vmap(func.vmap(lambda x: Cube.apply(x, 1.0)))
    _close(nested(X), X**3)
    _close(func.grad(lambda z: nested(z).sum())(X), 7 * X**2)


def test_forward_mode():
    """The jvp, where there is one; else the derivative of the backward."""
    t = reals(3, seed=1).detach()
    _close(func.jvp(WithRules.apply, (X[0],), (t,))[1], (2 * X[0] * t).sum() * 5)
    _close(func.jvp(lambda x: Cube.apply(x, 1.0), (X[0],), (t,))[1], 7 * X[0]**2 * t)


def test_what_is_missing_is_said():
    with pytest.raises(RuntimeError, match="Old, but it does not have vmap support"):
        func.vmap(Old.apply)(X)
    with pytest.raises(RuntimeError, match="must override the setup_context"):
        func.grad(lambda z: func.vmap(func.grad(lambda x: Old.apply(x).sum()))(z).sum())(X)


def test_jacobian_of_a_custom_function():
    found = func.jacrev(lambda x: Cube.apply(x, 1.0))(X[0])
    _close(found, flambeau.diag(7 * X[0]**2))
