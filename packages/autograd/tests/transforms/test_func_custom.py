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
        assert ctx.saved_for_forward[0] is not None
        return g * 2 * x

    @staticmethod
    def vmap(info, in_dims, x):
        assert info.batch_size == x.shape[in_dims[0]]
        return (x * x).sum(1 - in_dims[0]), 0

    @staticmethod
    def jvp(ctx, t):
        x, = ctx.saved_for_forward
        assert x is ctx.saved_tensors[0]
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


class WithoutRule(Cube):
    generate_vmap_rule = False


class TwoRules(Cube):
    vmap = WithRules.vmap


class Tangents(Cube):
    """The cube, whose jvp says 11."""

    @staticmethod
    def setup_context(ctx, inputs, output):
        Cube.setup_context(ctx, inputs, output)
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def jvp(ctx, t, _):
        x, = ctx.saved_tensors
        return t * 11 * x**2 * ctx.scale


class Doubles(Function):
    """Doubles its argument in place."""

    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return g * 2

    @staticmethod
    def jvp(ctx, t):
        return t.mul_(2)


class Sorted(Function):
    """Values in order, and their indices, which have no gradient."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sort()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])
        ctx.save_for_forward(output[1])

    @staticmethod
    def backward(ctx, g, _):
        return flambeau.zeros_like(g).scatter(-1, ctx.saved_tensors[0], g * 7)

    @staticmethod
    def jvp(ctx, t):
        return t.gather(-1, ctx.saved_tensors[0]) * 11, None


class InStructures(Function):
    """Takes tensors in a list; says where the batches are."""

    seen = ()

    @staticmethod
    def forward(x, pair):
        return x * pair[0], [pair[1]]

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, x, pair):
        InStructures.seen = in_dims
        return (x, [pair[1]]), (in_dims[0], [in_dims[1][1]])


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
    for call in (lambda: func.vmap(Old.apply)(X), lambda: func.jacfwd(Old.apply)(X[0]),
                 lambda: func.grad(lambda x: Old.apply(x).sum())(X),
                 lambda: func.jvp(Old.apply, (X,), (X,)),
                 lambda: func.grad(lambda y: (y * Old.apply(X)).sum())(X)):
        with pytest.raises(RuntimeError, match="must override the setup_context"):
            call()
    for kind, match in ((WithoutRule, "does not have vmap support"), (TwoRules, "both generate")):
        with pytest.raises(RuntimeError, match=match):
            func.vmap(kind.apply)(X)


def test_jacobian_of_a_custom_function():
    found = func.jacrev(lambda x: Cube.apply(x, 1.0))(X[0])
    _close(found, flambeau.diag(7 * X[0]**2))


def test_tangents_of_batches_are_by_the_jvp():
    t = reals(4, 3, seed=1).detach()
    cube = func.vmap(lambda x: Tangents.apply(x, 2.0))
    _close(func.jvp(cube, (X,), (t,))[1], 22 * X**2 * t)
    inner = func.vmap(lambda x, t: func.jvp(lambda x: Tangents.apply(x, 2.0), (x,), (t,))[1])
    _close(inner(X, t), 22 * X**2 * t)
    _close(func.jacfwd(lambda x: Tangents.apply(x, 2.0))(X[0]), flambeau.diag(22 * X[0]**2))
    _close(func.jvp(func.vmap(lambda x: Sorted.apply(x)[0]), (X,), (t,))[1],
           t.gather(1, X.sort(1)[1]) * 11)
    _close(func.grad(lambda z: func.vmap(lambda x: Sorted.apply(x)[0] ** 2)(z).sum())(X), 14 * X)


def test_arguments_that_are_written_to():
    """The output is the argument, tangent and all; views of it see both."""
    def f(x):
        y = x * 3
        view = y[1:]
        assert Doubles.apply(y) is y
        return y * x, view
    t = reals(3, seed=1).detach()
    (value, view), (moved, moved_view) = func.jvp(f, (X[0],), (t,))
    _close(value, 6 * X[0]**2)
    _close(moved, 12 * X[0] * t)
    _close(view, 6 * X[0][1:])
    _close(moved_view, 6 * t[1:])
    gradient = func.grad(lambda x: f(x)[0].sum())
    _close(gradient(X[0]), 12 * X[0])
    _close(func.jvp(gradient, (X[0],), (t,))[1], 12 * t)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_duals_that_are_written_to(requires_grad):
    from flambeau.autograd import forward_ad

    leaf = flambeau.ones(3, requires_grad=requires_grad)
    a = leaf.clone()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(a, flambeau.full((3,), 5.0))
        assert Doubles.apply(dual) is dual
        value, tangent = forward_ad.unpack_dual(dual)
        assert (value.tolist(), tangent.tolist()) == ([2.0] * 3, [10.0] * 3)
        if requires_grad:
            assert flambeau.autograd.grad(value.sum(), leaf)[0].tolist() == [2.0] * 3


def test_a_rule_is_told_where_the_batch_is():
    x, y = flambeau.ones(2, 4), flambeau.ones(3, 4)
    found, [same] = func.vmap(InStructures.apply, in_dims=(1, [None, 1]))(x, [x[:, 0], y])
    assert InStructures.seen == (1, [None, 1])
    assert (found.shape, same.shape) == ((4, 2), (4, 3))


@pytest.mark.parametrize(("result", "match"), [
    (lambda x: x, "two returns"), (lambda x: (x, 0, 0), "two returns"),
    (lambda x: (x, (0,)), "incompatible"), (lambda x: ((x, x), (0,)), "incompatible"),
    (lambda x: ((x, x), (0, 0, 0)), "incompatible")])
def test_a_rule_says_where_its_batches_are(result, match):
    class Rule(WithoutRule):
        @staticmethod
        def vmap(info, in_dims, x, scale):
            return result(x)
    with pytest.raises(RuntimeError, match=match):
        func.vmap(lambda x: Rule.apply(x, 1.0))(X)
