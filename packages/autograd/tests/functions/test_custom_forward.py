"""The ``jvp`` of custom functions: what goes together with what ``forward`` gives."""

import pytest

import flambeau
from flambeau.autograd import Function, forward_ad


def custom(forward, jvp):
    class Custom(Function):
        pass
    Custom.forward, Custom.jvp = staticmethod(forward), staticmethod(jvp)
    return Custom


@pytest.fixture
def dual():
    with forward_ad.dual_level():
        yield forward_ad.make_dual(flambeau.tensor([1.0, 2.0]), flambeau.ones(2))


def tangent_of(x):
    return forward_ad.unpack_dual(x).tangent


def test_views_stay_views(dual):
    view = custom(lambda ctx, x: x[:1], lambda ctx, t: t[:1]).apply(dual)
    view.mul_(5)
    assert tangent_of(view).tolist() == [5.0] and tangent_of(dual).tolist() == [5.0, 1.0]


@pytest.mark.parametrize(("forward", "jvp", "message"), [
    (lambda ctx, x: x[:1], lambda ctx, t: t[:1].clone(), "jvp is not returning a view:"),
    (lambda ctx, x: x, lambda ctx, t: t, r"\(or an input as-is\) but the jvp is not"),
    (lambda ctx, x: x[:1], lambda ctx, t: (t * 1)[:1], "not returning a view of the given"),
    (lambda ctx, x: x * 2, lambda ctx, t: (t, t), "2 tangents, but forward.. returned 1 outputs"),
    (lambda ctx, x: x * 2, lambda ctx, t: t[:1], "tangent of an invalid size"),
    (lambda ctx, x: x.argmax(), lambda ctx, t: t[0], "should return None at that position"),
], ids=["copy", "input", "other", "count", "size", "integer"])
def test_what_does_not_fit_is_refused(dual, forward, jvp, message):
    with pytest.raises(RuntimeError, match=message):
        custom(forward, jvp).apply(dual)


def test_an_input_that_is_returned(dual):
    y = custom(lambda ctx, x: x, lambda ctx, t: t.view_as(t)).apply(dual)
    assert tangent_of(y)._base is tangent_of(dual)


def _doubled(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


@pytest.mark.parametrize("jvp", [lambda ctx, t: t * 2, lambda ctx, t: t], ids=["new", "same"])
def test_writes(dual, jvp):
    y = custom(_doubled, lambda ctx, t: t.mul_(2)).apply(dual)
    assert y is dual and y.tolist() == [2.0, 4.0] and tangent_of(y).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="modify the corresponding gradient inplace"):
        custom(_doubled, jvp).apply(dual)


def test_writes_in_jvp():
    class Doubled(Function):
        @staticmethod
        def forward(x):
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(output)

        @staticmethod
        def jvp(ctx, t):
            return t.mul_(2)

    t = flambeau.ones(2)
    found = flambeau.func.jvp(lambda x: Doubled.apply(x * 3), (flambeau.ones(2),), (t,))
    assert found[0].tolist() == [6.0, 6.0] and found[1].tolist() == [6.0, 6.0]
    assert t.tolist() == [1.0, 1.0]


def test_writes_without_jvp_are_refused(dual):
    class Doubled(Function):
        forward = staticmethod(_doubled)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with pytest.raises(RuntimeError, match="must implement the jvp function"):
        Doubled.apply(dual)


def _with_constant(ctx, x):
    constant = x.detach() * 2
    ctx.mark_non_differentiable(constant)
    return x * 2, constant


def test_outputs_without_gradient(dual):
    moved, still = custom(_with_constant, lambda ctx, t: (t * 2, None)).apply(dual)
    assert tangent_of(moved).tolist() == [2.0, 2.0] and tangent_of(still) is None
    with pytest.raises(RuntimeError, match="should return None at that position"):
        custom(_with_constant, lambda ctx, t: (t * 2, t)).apply(dual)


def test_inputs_that_cannot_move_have_none(dual):
    seen = []
    add = custom(lambda ctx, x, n, y: x + n + y, lambda ctx, *t: seen.extend(t[1:]) or t[0])
    add.apply(dual, flambeau.tensor([1, 2]), flambeau.zeros(2))
    assert seen[0] is None and seen[1].tolist() == [0.0, 0.0]


def test_jvp_is_not_called_without_tangents():
    with forward_ad.dual_level():
        y = forward_ad.make_dual(flambeau.ones(1), flambeau.ones(1)).detach()
        assert custom(lambda ctx, x: x * 2, None).apply(y).tolist() == [2.0]


def test_what_forward_kept_may_be_given_up_in_jvp(dual):
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.result = x.exp()
            return ctx.result

        @staticmethod
        def jvp(ctx, t):
            moved = t * ctx.result
            del ctx.result
            return moved

    assert flambeau.equal(tangent_of(Exp.apply(dual)), forward_ad.unpack_dual(dual)[0].exp())
