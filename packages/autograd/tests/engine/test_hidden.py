"""Custom functions whose author hides something: an error, not a wrong number."""

import pytest
from numbers_for_tests import reals

import flambeau
from flambeau.autograd import Function, grad, gradgradcheck

TABLE = reals(3, grad=False)


def function(keep, read):
    """A function x -> exp(x)^2 whose backward reads what ``keep`` left."""

    class Squared(Function):
        @staticmethod
        def forward(ctx, x):
            e = x.exp()
            keep(ctx, x, e)
            return e * e

        @staticmethod
        def backward(ctx, g):
            return g * 2 * read(ctx) ** 2

    return Squared


HIDING = {
    "saved": (lambda ctx, x, e: ctx.save_for_backward(x, e), lambda ctx: ctx.saved_tensors[1]),
    "attribute": (lambda ctx, x, e: setattr(ctx, "e", e), lambda ctx: ctx.e),
}


@pytest.mark.parametrize(("keep", "read"), HIDING.values(), ids=HIDING)
def test_double_backward_through_an_intermediate_raises(keep, read):
    x = reals(3)
    y = function(keep, read).apply(x)
    first, = grad(y.sum(), x, create_graph=True)
    assert flambeau.allclose(first, 2 * (2 * x).exp())
    with pytest.raises(RuntimeError, match="double backward passes through a tensor"):
        grad(first.sum(), x, allow_unused=True, retain_graph=True)
    with pytest.raises(RuntimeError, match="Return it as an output of forward"):
        first.sum().backward()


@pytest.mark.parametrize(("keep", "read"), HIDING.values(), ids=HIDING)
def test_a_single_backward_is_fine(keep, read):
    x = reals(3)
    function(keep, read).apply(x).sum().backward()
    assert flambeau.allclose(x.grad, 2 * (2 * x).exp())


def test_computing_again_or_returning_it_is_right():
    again = function(lambda ctx, x, e: ctx.save_for_backward(x),
                     lambda ctx: ctx.saved_tensors[0].exp())
    assert gradgradcheck(again.apply, reals(3))

    class Returned(Function):
        @staticmethod
        def forward(ctx, x):
            e = x.exp()
            ctx.save_for_backward(e)
            return e * e, e

        @staticmethod
        def backward(ctx, g, g_e):
            e, = ctx.saved_tensors
            return g * 2 * e * e + g_e * e

    assert gradgradcheck(lambda x: Returned.apply(x)[0], reals(3))


@pytest.mark.parametrize("how", ["marked", "boolean", "made elsewhere"])
def test_constants_are_no_intermediates(how):
    class Masked(Function):
        @staticmethod
        def forward(ctx, x):
            if how == "made elsewhere":
                ctx.mask = TABLE
            elif how == "boolean":
                ctx.mask = x > 0
            else:
                ctx.mask = (x > 0).to(x.dtype)
                ctx.mark_non_differentiable(ctx.mask)
            ctx.save_for_backward(x)
            return x * x * ctx.mask

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return 2 * g * x * ctx.mask

    x = reals(3)
    first, = grad(Masked.apply(x).sum(), x, create_graph=True)
    second, = grad(first.sum(), x)
    mask = TABLE if how == "made elsewhere" else (x > 0).double()
    assert flambeau.allclose(second, 2 * mask.detach())


# ---- writes ----------------------------------------------------------------------------
class Triple(Function):
    """x *= 3, in place."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx, g):
        return g * 3


def test_a_view_that_was_written_to_tells_its_base():
    x = reals(4)
    base = x * 1
    part = Triple.apply(base[1:3])
    (base.sum() * 2 + part.sum()).backward()
    assert x.grad.tolist() == [2.0, 9.0, 9.0, 2.0]
    assert base.grad_fn.name() == "CopySlices"


def test_a_view_of_a_leaf_is_refused():
    x = flambeau.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        Triple.apply(x[1:3])


def test_a_view_among_several_outputs_is_refused():
    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(3), x.exp()

        @staticmethod
        def backward(ctx, g, h):
            return g * 3

    with pytest.raises(RuntimeError, match="must be the first argument and the only output"):
        Both.apply((reals(4) * 1)[1:])


def test_what_is_dirty_must_be_returned():
    class Lost(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.mul_(2)
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="must all be outputs of the Function"):
        Lost.apply(reals(2) * 1)


def test_gradients_of_outputs_without_gradient_are_zeros():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            indices = x.argsort()
            rest = x * 0
            ctx.mark_non_differentiable(indices, rest)
            return x * 2, indices, rest

        @staticmethod
        def backward(ctx, g, g_places, g_rest):
            seen.append((g_places.tolist(), g_rest.tolist()))
            return g * 2

    Two.apply(reals(2))[0].sum().backward()
    assert seen == [([0, 0], [0.0, 0.0])]


def test_what_transforms_look_for():
    assert Function.generate_vmap_rule is False
    with pytest.raises(NotImplementedError, match="jvp"):
        Function.jvp(None)
    with pytest.raises(NotImplementedError, match="generate_vmap_rule"):
        Function.vmap(None, ())


def test_nothing_is_saved_in_inference_mode():
    with flambeau.inference_mode():
        y = function(*HIDING["saved"]).apply(flambeau.ones(2))
    assert y.is_inference() and not y.requires_grad
